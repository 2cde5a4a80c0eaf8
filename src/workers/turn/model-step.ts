import { askForRepair, checkFinalAnswer, isAskedForRepair } from '../../domain/final-answer.ts';
import type { Leaving } from '../../domain/leaving.ts';
import type { Message } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { EMPTY_ANSWER } from '../../domain/model-answer.ts';
import type { StepOutcome } from '../../domain/ports/turn-store.ts';
import { type AnswerEnd, TURN_LIMITS } from '../../domain/turn.ts';
import { reportBackoff } from '../pass-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import type { SentContext } from './context-cache.ts';
import { judgeCount } from './judge-count.ts';
import { leaveIfNew, leaveUnanswered } from './leaving.ts';
import { withContents } from './load-contents.ts';
import { failAsRefused, failIfInfeasible, makeRoomAfterRefusal, requestUnderLease, waitForRoom } from './make-room.ts';
import { type AnsweredRequest, readAnswer } from './model-answer.ts';
import { callModel, type ModelCallResult, type ModelFailure } from './model-call.ts';
import { hintProvider } from './provider-hints.ts';
import { isUnanswered, rollBackRefused } from './refused-version.ts';
import { mustHandBack, type RunningTurn } from './running-turn.ts';
import { countModelSteps, countSteps, idempotencyKey, modelKey } from './step-keys.ts';
import { mayWaitForPass, waitAtGate, waitForRetry } from './step-waits.ts';
import { decideStep, type SoftPass, type StepDecision } from './threshold-check.ts';
import { failTurn, HANDED_BACK, leaveContext, type TurnEnd } from './turn-end.ts';

/** An assistant message of the turn. It is in the log, unless it is the final answer. */
export interface Answered {
  readonly kind: 'answered';
  /** Key of the model step that wrote the message. */
  readonly step: string;
  readonly seq: number;
  readonly message: Message;
  /** Why the answer is incomplete. Undefined if it is complete. */
  readonly end?: AnswerEnd | undefined;
  /** True if a message behind this answer asks the model for a corrected one. */
  readonly isRefused?: boolean;
  /** Messages that leave the context, if this answer ends the turn. */
  readonly leaves?: Leaving;
  /** Present for the final answer, which ends the turn. The settlement of the turn records this outcome. */
  readonly outcome?: StepOutcome;
}

/** Runs the turn's next model step: checks the thresholds, calls the model, records the answer if it is not the final one. */
export async function takeModelStep(run: RunningTurn): Promise<Answered | TurnEnd> {
  const { journal, prepared } = run;
  if (mustHandBack(run)) return HANDED_BACK;
  await journal.takeSteering();
  const number = countModelSteps(journal.steps) + 1;
  const step = modelKey(number);
  const maxSteps = prepared.agent.maxSteps ?? TURN_LIMITS.maxSteps;
  if (countSteps(journal.steps) >= maxSteps)
    return failTurn(
      'step_limit',
      `the turn has used all of its ${maxSteps} steps (maxSteps) without a final answer. Raise maxSteps of the agent`,
      {
        maxSteps,
      },
    );

  const decision = checkThresholds(run, step);
  const { tokens } = decision.size;
  if (decision.kind !== 'send') {
    const end =
      decision.kind === 'wait' ? await waitForRoom(run, step, decision) : await failUnlessSmaller(run, step, tokens);
    return end.kind === 'again' ? takeModelStep(run) : end;
  }

  const { maxTurnTokens = Number.POSITIVE_INFINITY } = run.claimed.caps;
  const { spentTokens } = journal;
  if (spentTokens + tokens > maxTurnTokens) {
    const sum = `the turn has used ${spentTokens} tokens, and its next model call needs ${tokens}. Its maxTurnTokens is ${maxTurnTokens}`;
    return failTurn('token_limit', sum, { spentTokens, tokens, maxTurnTokens });
  }
  const sent = await run.context.read(journal.conversation);
  await requestSoftPass(run, decision, sent.messages);
  const { version } = sent;
  const result = await sendRequest(run, { ...sent, number, tokens });
  if (result.status === 'failed') return continueAfterFailure(run, { step, version, tokens }, result.failure);
  const request = {
    key: step,
    head: journal.conversation.head,
    version,
    fingerprint: prepared.overhead.fingerprint,
    ...(await judgeCount(run, result.answer, sent.messages)),
  };
  return recordAnswer(
    run,
    { ...request, requestTokens: tokens, mayRepair: !isAskedForRepair(sent.messages) },
    result.answer,
  );
}

function checkThresholds({ journal, prepared }: RunningTurn, step: string): StepDecision {
  return decideStep(prepared, journal.conversation, mayWaitForPass(journal.waitsOf(step), 'threshold'));
}

/** Handles a request that exceeds the model's window although the step may not wait for another compaction pass. */
function failUnlessSmaller(run: RunningTurn, step: string, tokens: number): ReturnType<typeof failIfInfeasible> {
  const { journal, prepared } = run;
  const doesFit = (): boolean => decideStep(prepared, journal.conversation, false).kind !== 'refuse';
  return failIfInfeasible(run, step, { tokens, doesFit });
}

/**
 * Requests a compaction pass without waiting for it. While a model's thinking is without a final answer, requests none,
 * because such a pass could only end without a result. The end of the turn requests the pass instead.
 */
async function requestSoftPass(
  run: RunningTurn,
  { reasons, backoff }: SoftPass,
  messages: readonly Message[],
): Promise<void> {
  const cause = reasons.length > 0 && waitsForAnswer(reasons, messages) ? 'thinking' : backoff;
  if (cause !== undefined) reportBackoff(run.ports, run.ending.lease.conversation, cause);
  else if (reasons.length > 0) await requestUnderLease(run, { reasons });
}

interface SentRequest extends SentContext {
  /** Number of the model step within the turn, from 1. */
  readonly number: number;
  readonly tokens: number;
}

async function sendRequest(
  run: RunningTurn,
  { number, version, isCompacted, messages, tokens }: SentRequest,
): Promise<ModelCallResult> {
  const { prepared, ending, ports, settings, journal } = run;
  const { clock, onEvent, onContent, tracing, gates } = ports;
  const { tenant, id } = ending.lease.conversation;
  const streamed = { seq: journal.conversation.head + 1, step: number };
  let stream = run.stream.open(streamed);
  try {
    const result = await callModel({
      ending,
      model: withContents(prepared.agent, { tenant, conversation: id }),
      limits: prepared.limits,
      request: {
        system: prepared.system,
        tools: prepared.tools,
        messages,
        tokens,
        version,
        ...hintProvider(prepared, ending.lease.conversation, run.turnContext),
        ...(prepared.answerSchema && { answerSchema: prepared.answerSchema }),
        ...(gates && { gate: gates.gateFor(`turn|${tenant}|${id}|${ending.lease.turn}`) }),
        idempotencyKey: idempotencyKey(run, modelKey(number)),
        onText: (piece) => stream.addText(piece),
        onReasoning: (piece) => stream.addReasoning(piece),
        onToolCall: (piece) => stream.addCall(piece),
        onPassedOver: () => {
          void stream.end();
          stream = run.stream.open(streamed);
        },
      },
      timeoutMs: settings.stepTimeoutMs,
      isCompacted,
      clock,
      onEvent,
      onContent,
      tracing,
    });
    // The settlement of a turn refuses later pieces. Pieces of other steps may arrive later.
    const isLast = result.status === 'answered' && result.answer.toolCalls.length === 0;
    if (isLast) await stream.end();
    return result;
  } finally {
    void stream.end();
  }
}

interface RecordedRequest extends AnsweredRequest {
  /** Size of the request in tokens, which is stored with the turn. */
  readonly requestTokens: number;
  /** True if the model may be asked for a corrected answer. */
  readonly mayRepair: boolean;
}

async function recordAnswer(
  run: RunningTurn,
  { requestTokens, mayRepair, ...request }: RecordedRequest,
  answer: ModelAnswer,
): Promise<Answered | TurnEnd> {
  const { journal, prepared } = run;
  const read = await readAnswer(answer, request, prepared);
  if (read.status === 'unusable') return failModel(run, { message: read.why });
  const { message, outcome } = read;
  const repair = mayRepair ? findRepair(prepared, message, outcome.end) : undefined;
  const answered = { kind: 'answered', step: request.key, seq: request.head + 1, message, end: outcome.end } as const;
  if (message.toolCalls === undefined && repair === undefined) {
    const leaves = answer.isFiltered === true && (await leaveUnanswered(run));
    return { ...answered, ...(leaves && { leaves }), outcome: { ...outcome, requestTokens } };
  }
  // The provider's token count does not cover the added message.
  const { anchor: _, ...uncounted } = outcome;
  const written =
    repair === undefined
      ? outcome
      : { ...uncounted, messages: [...outcome.messages, await prepared.weigh(askForRepair(repair))] };
  await journal.record({ ...written, requestTokens });
  return repair === undefined ? answered : { ...answered, isRefused: true };
}

/** Returns what is wrong with a final answer that does not match the agent's schema. */
function findRepair(
  { agent }: PreparedAgent,
  { toolCalls, content }: Message,
  end: AnswerEnd | undefined,
): string | undefined {
  if (agent.answer === undefined || toolCalls !== undefined || end !== undefined) return undefined;
  const checked = checkFinalAnswer(agent.answer, content);
  return checked.status === 'invalid' ? checked.why : undefined;
}

/** Retries after an answer in which the model said nothing. Each retry costs the whole request. */
const MAX_EMPTY_RETRIES = 2;

/** Waits before the next attempt, unless the model has said nothing too often. */
function waitOrFail(run: RunningTurn, step: string, failure: ModelFailure): TurnEnd {
  const { journal, ports, settings } = run;
  const waits = journal.waitsOf(step);
  if (failure.code === EMPTY_ANSWER && waits.retries >= MAX_EMPTY_RETRIES) return failModel(run, failure);
  const retryAfterMs = failure.retryAt === undefined ? 0 : failure.retryAt - ports.clock.now();
  const wait = failure.isHeld === true ? waitAtGate(step, retryAfterMs) : waitForRetry(waits, retryAfterMs);
  return { kind: 'suspended', wait: { ...wait, maxMs: settings.providerWaitMs }, why: failure };
}

interface FailedRequest {
  readonly step: string;
  /** Number of the context version that the model request contains. */
  readonly version: number;
  readonly tokens: number;
}

/**
 * Decides how the step continues after a failed model call: again with another version of the context, after a wait, or
 * as the turn's failure.
 */
async function continueAfterFailure(
  run: RunningTurn,
  { step, version, tokens }: FailedRequest,
  failure: ModelFailure,
): Promise<Answered | TurnEnd> {
  switch (failure.kind) {
    case 'overflow': {
      const end = await makeRoomAfterRefusal(run, step, tokens);
      if (end === undefined) return failAsRefused(run, tokens, failure);
      return end.kind === 'again' ? takeModelStep(run) : end;
    }
    case 'retry':
      return waitOrFail(run, step, failure);
    case 'invalid':
      return continueAfterRefusal(run, { step, version, tokens }, failure);
    case 'fatal':
      return failModel(run, failure, failure.refusesContents ? await leaveUnanswered(run) : undefined);
  }
}

/** Continues after a provider refused the form of a request. */
async function continueAfterRefusal(
  run: RunningTurn,
  { step, version, tokens }: FailedRequest,
  failure: ModelFailure,
): Promise<Answered | TurnEnd> {
  if (failure.mayBeTooLong && isUnanswered(run.journal.conversation, version)) {
    const end = await makeRoomAfterRefusal(run, step, tokens);
    if (end === undefined) return failModel(run, failure);
    return end.kind === 'again' ? takeModelStep(run) : end;
  }
  const isRolledBack = await rollBackRefused(run, { step, version }, failure);
  // If the older context version is too large, and the step is not allowed to wait again, the turn fails with the
  // provider's refusal.
  if (isRolledBack && checkThresholds(run, step).kind !== 'refuse') return takeModelStep(run);
  return failModel(run, failure, failure.refusesContents ? await leaveUnanswered(run) : await leaveIfNew(run));
}

function failModel(
  { prepared }: RunningTurn,
  { message, code, form }: Pick<ModelFailure, 'message' | 'code' | 'form'>,
  leaves?: Leaving,
): TurnEnd {
  const model = prepared.agent.model.profile.id;
  const details = { model, ...(code !== undefined && { code }), ...(form !== undefined && { form }) };
  const failed = failTurn('model_failed', `the call of model ${model} failed: ${message}`, details);
  return leaves === undefined ? failed : leaveContext(failed, leaves);
}
