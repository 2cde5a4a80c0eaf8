import type { Message } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { contextSize, upperBoundTokens } from '../../domain/size.ts';
import { type AnswerEnd, TURN_LIMITS } from '../../domain/turn.ts';
import { countPictures } from '../../tokens/message-tokens.ts';
import { reportBackoff } from '../pass-request.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { askForPass, type DecideAgain, failAsRefused, failIfInfeasible, waitForRoom } from './make-room.ts';
import { type AnsweredStep, readAnswer } from './model-answer.ts';
import { callModel, type ModelCallResult, type ModelFailure } from './model-call.ts';
import { rollBackRefused } from './refused-version.ts';
import { idempotencyKey, mustHandBack, type RunningTurn } from './running-turn.ts';
import { countModelSteps, countSteps, countWaits, mayWaitForPass, modelKey, overflowKey } from './step-keys.ts';
import { TextTeller } from './text-teller.ts';
import { decideStep, type SoftPass } from './threshold-check.ts';
import { failTurn, HANDED_BACK, type TurnEnd } from './turn-end.ts';
import { waitForRetry } from './waiting.ts';

/** An assistant message of the turn, as it stands in the log. */
export interface Answered {
  readonly kind: 'answered';
  /** key of its step */
  readonly step: string;
  readonly seq: number;
  readonly message: Message;
  /** where the answer is not complete */
  readonly end?: AnswerEnd | undefined;
}

/** Takes the turn's next model step: backoff, call, record. */
export async function takeModelStep(run: RunningTurn): Promise<Answered | TurnEnd> {
  const { journal, prepared } = run;
  if (mustHandBack(run)) return HANDED_BACK;
  const number = countModelSteps(journal.steps) + 1;
  const step = modelKey(number);
  const maxSteps = prepared.agent.maxSteps ?? TURN_LIMITS.maxSteps;
  if (countSteps(journal.steps) >= maxSteps) return failTurn('step_limit', `took ${maxSteps} steps`, { maxSteps });

  const mayWait = mayWaitForPass(journal.steps, 'compaction', step);
  const decision = decideStep(prepared, journal.conversation, mayWait);
  const { size } = decision;
  if (decision.kind !== 'send') {
    const end =
      decision.kind === 'wait' ? await waitForRoom(run, step, decision) : await refuseStep(run, step, size.tokens);
    return end.kind === 'again' ? takeModelStep(run) : end;
  }

  const sent = await run.context.read(journal.conversation);
  await askForSoftPass(run, decision, sent.messages);
  const { version } = sent;
  const result = await sendRequest(run, { ...sent, number, tokens: size.tokens });
  if (result.status === 'failed') return goOnAfter(run, { step, version, tokens: size.tokens }, result.failure);
  const { fingerprint } = prepared.overhead;
  const countedTokens = countRequest(run);
  const pictureTokens = countPictures(sent.messages);
  const answered = { key: step, head: journal.conversation.head, version, fingerprint, countedTokens, pictureTokens };
  return recordAnswer(run, answered, result.answer, size.tokens);
}

/** After a rollback. If the context is too large again and the step has no wait left, the refusal is what ends the turn. */
function mayStillFit({ journal, prepared }: RunningTurn, step: string): boolean {
  const mayWait = mayWaitForPass(journal.steps, 'compaction', step);
  return decideStep(prepared, journal.conversation, mayWait).kind !== 'refuse';
}

/** Larger than the window, after all waits that the step has. */
function refuseStep(run: RunningTurn, step: string, tokens: number): Promise<TurnEnd | DecideAgain> {
  const { journal, prepared } = run;
  const doesFit = (): boolean => decideStep(prepared, journal.conversation, false).kind !== 'refuse';
  return failIfInfeasible(run, step, { tokens, doesFit });
}

interface SentRequest {
  /** of the model step, from 1 */
  readonly number: number;
  readonly version: number;
  readonly isCompacted: boolean;
  readonly messages: readonly Message[];
  readonly tokens: number;
}

async function sendRequest(
  run: RunningTurn,
  { number, version, isCompacted, messages, tokens }: SentRequest,
): Promise<ModelCallResult> {
  const { prepared, keeper, ports, settings } = run;
  const { texts, timers, clock, onEvent, onContent, tracing, shutdown } = ports;
  const teller = new TextTeller({ texts, timers, lease: keeper.lease, step: number, onEvent });
  try {
    return await callModel({
      lease: keeper.lease,
      model: prepared.agent.model,
      limits: prepared.limits,
      request: {
        system: prepared.system,
        tools: prepared.tools,
        messages,
        tokens,
        version,
        idempotencyKey: idempotencyKey(run, modelKey(number)),
        onText: (piece) => teller.add(piece),
        onPassedOver: () => teller.restart(),
      },
      deadline: { timers, timeoutMs: settings.stepTimeoutMs, signal: keeper.signal, stop: shutdown.callsEnd },
      isCompacted,
      clock,
      onEvent,
      onContent,
      tracing,
    });
  } finally {
    teller.end();
  }
}

async function recordAnswer(
  run: RunningTurn,
  step: AnsweredStep,
  answer: ModelAnswer,
  requestTokens: number,
): Promise<Answered | TurnEnd> {
  const { journal, prepared, ports } = run;
  const read = await readAnswer(answer, step, prepared);
  if (read.status === 'unusable') return failModel(run, { message: read.why });
  const { message, outcome } = read;
  const { usage } = outcome;
  const model = answer.model ?? prepared.agent.model.profile.id;
  if (usage !== undefined) void ports.calibrations.observe(model, usage.inputTokens, step.countedTokens);
  await journal.record({ ...outcome, requestTokens });
  return { kind: 'answered', step: step.key, seq: step.head + 1, message, end: outcome.end };
}

/** Our own count, which no provider has a part in. */
function countRequest({ journal, prepared }: RunningTurn): number {
  const { anchor: _, ...size } = journal.conversation.size;
  return contextSize(size, { ...prepared.overhead, calibration: 1 }).tokens;
}

interface FailedRequest {
  readonly step: string;
  /** that was sent */
  readonly version: number;
  readonly tokens: number;
}

/** What comes of a call that brought no answer: the step again over another version, a wait, or the turn's failure. */
async function goOnAfter(
  run: RunningTurn,
  { step, version, tokens }: FailedRequest,
  failure: ModelFailure,
): Promise<Answered | TurnEnd> {
  const { prepared, journal, ports } = run;
  switch (failure.kind) {
    case 'overflow': {
      if (!prepared.policy.enabled || !mayWaitForPass(journal.steps, 'overflow', step)) {
        return failAsRefused(run, tokens, failure);
      }
      await journal.start([overflowKey(step)]);
      const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
      const end = await waitForRoom(run, step, { reasons: ['overflow'], refusedTokens });
      return end.kind === 'again' ? takeModelStep(run) : end;
    }
    case 'retry': {
      const waits = countWaits(journal.steps, 'retry', step);
      const retryAfterMs = failure.retryAt === undefined ? undefined : failure.retryAt - ports.clock.now();
      const times = { waits, retryAfterMs };
      return { kind: 'suspended', wait: waitForRetry(step, times), why: failure };
    }
    case 'invalid':
      if (!(await rollBackRefused(run, { step, version }, failure)) || !mayStillFit(run, step))
        return failModel(run, failure);
      return takeModelStep(run);
    case 'fatal':
      return failModel(run, failure);
  }
}

/** Not inside of a thinking loop, where it could only end; it is asked for when the turn does. */
async function askForSoftPass(
  run: RunningTurn,
  { reasons, hold: shut }: SoftPass,
  messages: readonly Message[],
): Promise<void> {
  const hold = reasons.length > 0 && waitsForAnswer(reasons, messages) ? 'thinking' : shut;
  if (hold !== undefined) reportBackoff(run.ports, run.keeper.lease.conversation, hold);
  else if (reasons.length > 0) await askForPass(run, { reasons });
}

type Refusal = Pick<ModelFailure, 'message' | 'code' | 'form'>;

function failModel({ prepared }: RunningTurn, { message, code, form }: Refusal): TurnEnd {
  const model = prepared.agent.model.profile.id;
  const told = { ...(code !== undefined && { code }), ...(form !== undefined && { form }) };
  return failTurn('model_failed', `model ${model}: ${message}`, { model, ...told });
}
