import { expect, it } from 'vitest';
import { type ConversationState, NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { resolveLimits } from '../../../src/domain/limits.ts';
import { completePolicy, type PolicyInput } from '../../../src/domain/policy.ts';
import { NO_OVERHEAD } from '../../../src/domain/size.ts';
import { decideStep, decideTurnEnd } from '../../../src/workers/turn/step-decision.ts';

/** The usable window is 9,000 tokens: `ratio` applies from 7,650, `hard_limit` from 8,280. */
const window = { windowTokens: 10_000, outputCapTokens: 1_000, upperBoundFactor: 1 };

function agentWith(policy: PolicyInput = {}, factor = 1) {
  const complete = completePolicy(policy);
  const limits = resolveLimits(complete, { ...window, upperBoundFactor: factor });
  return { policy: complete, limits, overhead: NO_OVERHEAD };
}

/** @param tokens tokens of the next request, including framing */
function stateOf(tokens: number, state: Partial<ConversationState> = {}): ConversationState {
  const nothing = { tokens: 0, bytes: 0 };
  return {
    agent: 'a',
    incarnation: '1',
    head: 10,
    turns: 5,
    openCalls: [],
    size: { version: 0, weight: nothing, baseTotal: nothing, headTotal: { tokens: tokens - 3, bytes: 0 } },
    passed: { head: 0, turns: 0 },
    backoff: NO_BACKOFF,
    ...state,
  };
}

it('the threshold check before a model step sends the request if the context is below every threshold', () => {
  expect(decideStep(agentWith(), stateOf(7_649), true)).toMatchObject({
    kind: 'send',
    reasons: [],
    size: { tokens: 7_649 },
  });
});

it('the threshold check before a model step sends the request and requests a compaction pass from the soft threshold on', () => {
  expect(decideStep(agentWith(), stateOf(7_650), true)).toMatchObject({ kind: 'send', reasons: ['ratio'] });
  const counted = agentWith({ turnThreshold: 5, messageThreshold: 10 });
  expect(decideStep(counted, stateOf(100), true)).toMatchObject({
    reasons: ['turn_threshold', 'message_threshold'],
  });
  const passed = { passed: { head: 1, turns: 1 } };
  expect(decideStep(counted, stateOf(100, passed), true)).toMatchObject({ reasons: [] });
});

it.each([
  ['a pass is in progress', { passId: 'p' }],
  ['an evaluation found nothing below a larger size', { backoff: { ...NO_BACKOFF, nothingBelowTokens: 7_701 } }],
  ['a backoff after passes without gain holds', { backoff: { ...NO_BACKOFF, noGainBelowTokens: 7_701 } }],
])('the threshold check before a model step requests no compaction pass over a soft threshold if %s', (_, state) => {
  expect(decideStep(agentWith(), stateOf(7_700, state), true)).toMatchObject({ kind: 'send', reasons: [] });
});

it('the threshold check before a model step requests a compaction pass again when the context is large enough to end the backoff', () => {
  const state = stateOf(7_701, { backoff: { ...NO_BACKOFF, nothingBelowTokens: 7_701 } });
  expect(decideStep(agentWith(), state, true)).toMatchObject({ reasons: ['ratio'] });
});

it('the threshold check before a model step makes the turn wait for a compaction pass from the hard limit on, even during a backoff', () => {
  const shut = { backoff: { ...NO_BACKOFF, nothingBelowTokens: 99_999, noGainBelowTokens: 99_999 }, passId: 'p' };
  const decision = decideStep(agentWith(), stateOf(8_280, shut), true);
  expect(decision).toMatchObject({ kind: 'wait', reasons: ['ratio', 'hard_limit'] });
});

it('the threshold check makes the turn wait if the upper bound of its size exceeds the window, even if the mean does not', () => {
  expect(decideStep(agentWith({ hardRatio: 1 }, 1.2), stateOf(7_600), true)).toMatchObject({ kind: 'wait' });
});

it('the threshold check makes a turn wait only once, and then sends a request that fits and refuses a larger request', () => {
  expect(decideStep(agentWith(), stateOf(9_000), false)).toMatchObject({ kind: 'send', reasons: [] });
  expect(decideStep(agentWith(), stateOf(9_001), false)).toMatchObject({ kind: 'refuse' });
});

it('the threshold check requests no compaction pass while compaction is off, and refuses a request that exceeds the window', () => {
  const off = agentWith({ enabled: false });
  expect(decideStep(off, stateOf(9_000), true)).toMatchObject({ kind: 'send', reasons: [] });
  expect(decideStep(off, stateOf(9_001), true)).toMatchObject({ kind: 'refuse' });
});

it('the threshold check before a model step applies the hard limit even in mode manual', () => {
  const manual = agentWith({ mode: 'manual', turnThreshold: 1 });
  expect(decideStep(manual, stateOf(8_000), true)).toMatchObject({ kind: 'send', reasons: [] });
  expect(decideStep(manual, stateOf(8_280), true)).toMatchObject({ kind: 'wait', reasons: ['hard_limit'] });
});

it('the threshold check after a turn requests a compaction pass if the policy sets onTurnEnd', () => {
  expect(decideTurnEnd(agentWith(), stateOf(100))).toEqual({ reasons: [] });
  expect(decideTurnEnd(agentWith({ onTurnEnd: true }), stateOf(100))).toEqual({ reasons: ['turn_end'] });
  expect(decideTurnEnd(agentWith({ onTurnEnd: true }), stateOf(7_650))).toEqual({ reasons: ['ratio', 'turn_end'] });
});

it('the threshold check after a turn requests no compaction pass during an open pass or a backoff', () => {
  expect(decideTurnEnd(agentWith({ onTurnEnd: true }), stateOf(100, { passId: 'p' }))).toEqual({ reasons: [] });
  const shut = { backoff: { ...NO_BACKOFF, nothingBelowTokens: 9_000 } };
  expect(decideTurnEnd(agentWith(), stateOf(8_500, shut))).toEqual({ reasons: [], backoff: 'nothing_to_do' });
  const open = { backoff: { ...NO_BACKOFF, nothingBelowTokens: 9_000, noGainBelowTokens: 8_600 } };
  expect(decideTurnEnd(agentWith(), stateOf(8_500, open))).toEqual({ reasons: [], backoff: 'no_gain' });
  expect(decideTurnEnd(agentWith(), stateOf(100, shut)), 'without a reason nothing is held').toEqual({ reasons: [] });
});
