/**
 * One turn as a state machine, as `workers/compaction/pass-machine.ts` is one pass. `nextTurnState` is pure: it derives the next
 * state from a state and the facts that the action of this state read or wrote. `turn-states.ts` has their types.
 * `runTurn` of `answer-turn.ts` is the loop: act, next state, act, until the end.
 *
 * ```
 *  claimed ──► brief ──► catch_up ──┬──────► check ──► ask ──► record ──► end (completed)
 *                                   │          ▲                 │
 *                                   └► tools ──┘◄── to correct ──┤
 *                                        ▲                       │
 *                                        └─────── calls ─────────┘
 * ```
 *
 * - `claimed`: starts the timer of the turn's time limit. If no time is left: `end`.
 * - `brief`: reads what the caller gave for the turn, and the system prompt that a function of the agent wrote. A turn
 *   with parts that its agent does not accept fails here.
 * - `catch_up`: removes the messages of canceled turns from the context. Records the end of the turn's last wait, and
 *   reads the turn's last answer. A new turn has neither.
 * - `check`: takes messages that steer the turn. May it make a model call, and does the context fit?
 * - `ask`: calls the model. `record` writes its answer, but leaves a final answer to the settlement.
 * - `tools`: runs or answers the open calls of the last answer. Calls that wait for an answer from outside: `end`.
 *
 * Too large, by our count (`check`) or by the provider's answer (`ask`):
 *
 * ```
 * check, may wait ──────────────┬──► request_pass ──► end (suspended until the pass has ended)
 * ask, may wait ► note_refusal ─┘──► compact ──► check    three passes ended without deciding on the size
 * check, no wait left ► recount ──► give_up               the arithmetic holds at this moment (I14)
 *                          ├──────► check                 the context has changed, and the request fits
 *                          └──────► compact ──► check     or suspended, if the request still does not fit
 * ask, no wait left ──► recount ──► give_up ──► end (failed)
 * ```
 *
 * Other failures of `ask`: `retry` suspends the turn. `invalid` tries the parent of a version that no model answered
 * (`roll_back`, then `check`). Anything else fails the turn, after `find_leaving` has found messages that must leave
 * the context.
 *
 * Bounded: a model call waits once for each cause, and each wait is recorded before it counts. `roll_back` goes to an
 * older version each time. Model and tool calls together are at most `maxSteps`.
 *
 * `end` gives the lease back. A lost lease, a stopping worker and a timeout end a
 * turn from outside, by `TurnGuard`.
 */
import { checkFinalAnswer } from '../../domain/final-answer.ts';
import type { Leaving } from '../../domain/message.ts';
import { EMPTY_ANSWER } from '../../domain/model-answer.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { mayWaitForPass, type StepWaits, waitAtGate, waitForPass, waitForRetry } from './step-decision.ts';
import type { PassNeed } from './turn-ports.ts';
import {
  type ActiveRunStateName,
  type FailedEnd,
  failTurn,
  HANDED_BACK,
  leaveContext,
  type ModelFailure,
  type RunFacts,
  type RunState,
  type TimeLimit,
  type TurnEnd,
  type TurnRules,
} from './turn-states.ts';

/** Passes that may end without deciding on the context's size. After these, the turn compacts the context itself. */
const MAX_UNSETTLED = 3;

/** Number of retries after an empty answer. Each retry costs the whole request. */
const MAX_EMPTY_RETRIES = 2;

const CHECK: RunState<'check'> = { name: 'check' };

export const CLAIMED: RunState<'claimed'> = { name: 'claimed' };

export function nextTurnState<Name extends ActiveRunStateName>(
  state: RunState<Name>,
  facts: RunFacts[Name],
  rules: TurnRules,
): RunState {
  return TRANSITIONS[state.name](state, facts, rules);
}

const TRANSITIONS: {
  readonly [Name in ActiveRunStateName]: (state: RunState<Name>, facts: RunFacts[Name], rules: TurnRules) => RunState;
} = {
  claimed: (_, { limit }) => (limit !== undefined && limit.leftMs <= 0 ? end(limit.failed) : { name: 'brief' }),
  brief: (_, facts) => (facts.status === 'briefed' ? { name: 'catch_up' } : end(facts.failed)),
  catch_up: (_, { last }) => (last === undefined ? CHECK : { name: 'tools', answered: last }),
  check: afterCheck,
  ask: ({ key, tokens }, facts, rules) => {
    if (facts.status === 'failed') return afterFailure({ key, tokens }, facts, rules);
    const { answer, sent } = facts;
    return { name: 'record', key, tokens, answer, sent };
  },
  record: (_, facts, rules) => {
    switch (facts.status) {
      case 'unusable':
        return end(failModel(rules, { message: facts.why }));
      case 'final':
        return end(endWithAnswer(facts, rules));
      case 'recorded':
        return { name: 'tools', answered: facts.answered };
      case 'to_correct':
        return CHECK;
    }
  },
  tools: (_, facts) => (facts.status === 'closed' ? CHECK : end(facts.end)),
  request_pass: ({ key }, { passId }) => end({ kind: 'suspended', wait: waitForPass(key, passId) }),
  compact: ({ isLastResort }, { doesFit, waits, random }) => {
    if (!isLastResort || doesFit) return CHECK;
    const why = { message: 'a compaction pass could have made the request small enough, but did not' };
    return end({ kind: 'suspended', wait: waitForRetry(waits, 0, random), why });
  },
  recount: ({ key, tokens, refusal }, facts) => {
    if (facts.status === 'fits') return CHECK;
    const { recount } = facts;
    if (refusal !== undefined || recount.status === 'too_large') return { name: 'give_up', tokens, refusal, recount };
    return { name: 'compact', key, need: { reasons: ['hard_limit'] }, isLastResort: true };
  },
  note_refusal: ({ key }, { need, waits }) => makeRoom(key, waits, need),
  roll_back: ({ failure }, { maySend }) => {
    if (maySend) return CHECK;
    return { name: 'find_leaving', failure, which: failure.refusesContents === true ? 'unanswered' : 'if_new' };
  },
  find_leaving: ({ failure }, { leaves }, rules) => end(failModel(rules, failure, leaves)),
  give_up: (_, { failed, leaves }) => end(leaveContext(failed, leaves)),
};

function end(how: TurnEnd): RunState<'end'> {
  return { name: 'end', end: how };
}

function afterCheck(_: RunState<'check'>, facts: RunFacts['check'], rules: TurnRules): RunState {
  if (facts.status === 'stopping') return end(HANDED_BACK);
  const { key, number, steps, spentTokens, decision, waits } = facts;
  const { agent, isCompacting, maxTurnTokens } = rules;
  const { maxSteps = TURN_LIMITS.maxSteps } = agent;
  if (steps >= maxSteps) {
    const why = `the turn has used all of its ${maxSteps} steps (maxSteps) without a final answer. Raise maxSteps of the agent`;
    return end(failTurn('step_limit', why, { maxSteps }));
  }
  const { tokens } = decision.size;
  if (decision.kind === 'wait') return makeRoom(key, waits, { reasons: decision.reasons });
  if (decision.kind === 'refuse') return isCompacting ? { name: 'recount', key, tokens } : { name: 'give_up', tokens };
  if (spentTokens + tokens > maxTurnTokens) {
    const sum = `the turn has used ${spentTokens} tokens, and its next model call needs ${tokens}. Its maxTurnTokens is ${maxTurnTokens}`;
    return end(failTurn('token_limit', sum, { spentTokens, tokens, maxTurnTokens }));
  }
  return { name: 'ask', key, number, tokens, soft: decision };
}

/** Waits for a pass. After several passes that decided nothing, compacts in the turn, without missing summaries. */
function makeRoom(key: string, { unsettledPasses }: StepWaits, need: PassNeed): RunState {
  if (unsettledPasses < MAX_UNSETTLED) return { name: 'request_pass', key, need };
  return { name: 'compact', key, need, isLastResort: false };
}

type FailedCall = Extract<RunFacts['ask'], { readonly status: 'failed' }>;

function afterFailure(
  { key, tokens }: Pick<RunState<'ask'>, 'key' | 'tokens'>,
  call: FailedCall,
  rules: TurnRules,
): RunState {
  const { failure, version, isUnanswered, waits } = call;
  const mayMakeRoom = rules.isCompacting && mayWaitForPass(waits, 'overflow');
  switch (failure.kind) {
    case 'overflow':
      if (mayMakeRoom) return { name: 'note_refusal', key, tokens };
      return { ...(rules.isCompacting ? { name: 'recount', key } : { name: 'give_up' }), tokens, refusal: failure };
    case 'retry':
      return end(waitOrFail(call, rules));
    case 'invalid':
      if (failure.mayBeTooLong !== true || !isUnanswered) return { name: 'roll_back', key, version, failure };
      return mayMakeRoom ? { name: 'note_refusal', key, tokens } : end(failModel(rules, failure));
    case 'fatal':
      if (failure.refusesContents !== true) return end(failModel(rules, failure));
      return { name: 'find_leaving', failure, which: 'unanswered' };
  }
}

function waitOrFail({ failure, waits, retryAfterMs, random }: FailedCall, rules: TurnRules): TurnEnd {
  if (failure.code === EMPTY_ANSWER && waits.retries >= MAX_EMPTY_RETRIES) return failModel(rules, failure);
  const wait =
    failure.isHeld === true ? waitAtGate(waits.step, retryAfterMs) : waitForRetry(waits, retryAfterMs, random);
  return { kind: 'suspended', wait: { ...wait, maxMs: rules.providerWaitMs }, why: failure };
}

function endWithAnswer(
  { answered, outcome: step, leaves }: Extract<RunFacts['record'], { readonly status: 'final' }>,
  { agent }: TurnRules,
): TurnEnd {
  const { seq: answerSeq, end: how, message } = answered;
  const { answer: schema, name } = agent;
  if (schema === undefined || how !== undefined) return { kind: 'completed', answerSeq, end: how, leaves, step };
  const checked = checkFinalAnswer(schema, message.content);
  if (checked.status === 'valid') return { kind: 'completed', answerSeq, isStructured: true, step };
  const why = `agent ${name}: the final answer does not match the schema of \`answer\`, also after one correction`;
  return { ...failTurn('answer_invalid', why, { agent: name, fields: checked.fields }), step };
}

function failModel(
  { agent }: TurnRules,
  { message, code, form }: Pick<ModelFailure, 'message' | 'code' | 'form'>,
  leaves?: Leaving,
): FailedEnd {
  const model = agent.model.profile.id;
  const details = { model, ...(code !== undefined && { code }), ...(form !== undefined && { form }) };
  return leaveContext(failTurn('model_failed', `the call of model ${model} failed: ${message}`, details), leaves);
}

/**
 * Applies the time limit to the end of a turn. An outcome after the limit is dropped. A wait is shortened to the limit,
 * where the next claim fails the turn.
 */
export function endWithin(how: TurnEnd, { leftMs, failed, isOver }: TimeLimit & { readonly isOver: boolean }): TurnEnd {
  if ('step' in how && isOver) return failed;
  if (how.kind !== 'suspended') return how;
  const { wait } = how;
  const shorten = (waitMs: number): number => Math.max(0, Math.min(waitMs, leftMs));
  const calls = wait.calls.map((call) => ({ ...call, waitMs: shorten(call.waitMs) }));
  return { ...how, wait: { ...wait, waitMs: shorten(wait.waitMs), calls } };
}
