import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { Message } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { contextSize, upperBoundTokens } from '../../domain/size.ts';
import { type AnswerEnd, TURN_LIMITS } from '../../domain/turn.ts';
import { countPictures } from '../../tokens/message-tokens.ts';
import { requestPass, tellOfHold } from '../pass-request.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { decideStep, type SoftPass } from './gate.ts';
import { LostTurn } from './lost-turn.ts';
import { type AnsweredStep, readAnswer } from './model-answer.ts';
import { callModel, type ModelCallResult, type ModelFailure } from './model-call.ts';
import { rollBackRefused } from './refused-version.ts';
import { idempotencyKey, mustHandBack, type RunningTurn } from './running-turn.ts';
import { countModelSteps, countSteps, countWaits, mayWaitForPass, modelKey, overflowKey } from './step-keys.ts';
import { TextTeller } from './text-teller.ts';
import { failTurn, HANDED_BACK, type TurnEnd } from './turn-end.ts';
import { waitForPass, waitForRetry } from './waiting.ts';

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

/** Takes the turn's next model step: gate, call, record. */
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
  if (decision.kind === 'refuse') return failAsTooLarge(run, size.tokens);
  if (decision.kind === 'wait') return suspendForPass(run, step, decision.reasons);

  const sent = await run.context.read(journal.conversation);
  await askForSoftPass(run, decision, sent.messages);
  const { version } = sent;
  const result = await sendRequest(run, { ...sent, number, tokens: size.tokens });
  if (result.status === 'failed') return goOnAfter(run, { step, version, tokens: size.tokens }, result.failure);
  const { setup } = prepared.overhead;
  const countedTokens = countRequest(run);
  const pictureTokens = countPictures(sent.messages);
  const answered = { key: step, head: journal.conversation.head, version, setup, countedTokens, pictureTokens };
  return recordAnswer(run, answered, result.answer, size.tokens);
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
        return failAsTooLarge(run, tokens, failure);
      }
      await journal.start([overflowKey(step)]);
      const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
      return suspendForPass(run, step, ['overflow'], refusedTokens);
    }
    case 'retry': {
      const waits = countWaits(journal.steps, 'retry', step);
      const retryAfterMs = failure.retryAt === undefined ? undefined : failure.retryAt - ports.clock.now();
      const times = { waits, retryAfterMs };
      return { kind: 'suspended', wait: waitForRetry(step, times), why: failure };
    }
    case 'invalid':
      return (await rollBackRefused(run, { step, version }, failure)) ? takeModelStep(run) : failModel(run, failure);
    case 'fatal':
      return failModel(run, failure);
  }
}

/** The pass is asked for before the lease is given back: one that ends in between fulfils the wait all the same. */
async function suspendForPass(
  run: RunningTurn,
  step: string,
  reasons: readonly Reason[],
  refusedTokens?: number,
): Promise<TurnEnd> {
  await askForPass(run, reasons, refusedTokens);
  return { kind: 'suspended', wait: waitForPass(step) };
}

/** Not inside of a thinking loop, where it could only end; it is asked for when the turn does. */
async function askForSoftPass(
  run: RunningTurn,
  { reasons, hold: shut }: SoftPass,
  messages: readonly Message[],
): Promise<void> {
  const hold = reasons.length > 0 && waitsForAnswer(reasons, messages) ? 'thinking' : shut;
  if (hold !== undefined) tellOfHold(run.ports, run.keeper.lease.conversation, hold);
  else if (reasons.length > 0) await askForPass(run, reasons);
}

async function askForPass(
  { keeper, ports, prepared }: RunningTurn,
  reasons: readonly Reason[],
  refusedTokens?: number,
): Promise<void> {
  keeper.signal.throwIfAborted();
  const { calibration } = prepared.overhead;
  const passId = await requestPass(ports, keeper.lease.conversation, { reasons, refusedTokens, calibration });
  if (passId === undefined) throw new LostTurn('gone');
}

type Refusal = Pick<ModelFailure, 'message' | 'code' | 'form'>;

function failModel({ prepared }: RunningTurn, { message, code, form }: Refusal): TurnEnd {
  const model = prepared.agent.model.profile.id;
  const told = { ...(code !== undefined && { code }), ...(form !== undefined && { form }) };
  return failTurn('model_failed', `model ${model}: ${message}`, { model, ...told });
}

/** The arithmetic of a request that does not fit. `refusal`: the provider's word, whatever our count of it says. */
function failAsTooLarge({ prepared }: RunningTurn, tokens: number, refusal?: ModelFailure): TurnEnd {
  const { limits, overhead, policy } = prepared;
  const { usable, upperBoundFactor } = limits;
  const upperBound = upperBoundTokens(tokens, upperBoundFactor);
  const code = refusal?.code;
  const sizes = { tokens, fixedTokens: overhead.tokens, upperBoundFactor, upperBoundTokens: upperBound, usable };
  const details = code === undefined ? sizes : { ...sizes, code };
  const sum = `system and tools ${overhead.tokens} + messages ${tokens - overhead.tokens} = ${tokens} tokens`;
  const count = `${sum}, at most ${upperBound} (× ${upperBoundFactor}), usable ${usable ?? 'unknown'}`;
  const word = `; the provider refused the size${code === undefined ? '' : ` (${code})`}: ${refusal?.message}`;
  const why = refusal === undefined ? count : count + word;
  return policy.enabled
    ? failTurn('budget_infeasible', `the request stays too large: ${why}`, details)
    : failTurn('context_overflow', `the request is too large and compaction is off: ${why}`, details);
}
