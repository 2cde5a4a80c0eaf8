import { beforeAll, expect, it } from 'vitest';
import { type ConversationState, NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { NO_WEIGHT } from '../../../src/domain/message.ts';
import type { Reason } from '../../../src/domain/pass.ts';
import { completePolicy, type PolicyInput } from '../../../src/domain/policy.ts';
import { evaluateRequest } from '../../../src/workers/compaction/pass-snapshot.ts';
import type { PreparedAgent } from '../../../src/workers/prepared-agent.ts';
import { Fixture } from './fixture.ts';

let prepared: PreparedAgent;

beforeAll(async () => {
  const profile = { windowTokens: 10_500, outputCapTokens: 500 };
  prepared = (await Fixture.open({ profile, policy: { tokenThreshold: 5_000, turnThreshold: 10 } })).agent;
});

/** The state of a conversation that has this many tokens. */
function stateOf(tokens: number, changes: Partial<ConversationState> = {}): ConversationState {
  return {
    agent: 'guide',
    incarnation: '1',
    head: 40,
    turns: 4,
    openCalls: [],
    size: { version: 0, weight: NO_WEIGHT, baseTotal: NO_WEIGHT, headTotal: { tokens, bytes: tokens * 4 } },
    passed: { head: 0, turns: 0 },
    backoff: NO_BACKOFF,
    passId: 'p1',
    ...changes,
  };
}

function evaluate(state: ConversationState, requested: readonly Reason[], policy: PolicyInput = {}): Reason[] {
  return evaluateRequest({ ...prepared, policy: completePolicy({ ...prepared.policy, ...policy }) }, state, requested);
}

it('a compaction pass is evaluated by the reasons that hold now, not by those of its request', () => {
  expect(evaluate(stateOf(1_000), ['token_threshold', 'ratio', 'turn_threshold', 'hard_limit'])).toEqual([]);
  expect(evaluate(stateOf(6_000), ['ratio'])).toEqual(['token_threshold']);
  expect(evaluate(stateOf(9_500), [])).toEqual(['token_threshold', 'ratio', 'hard_limit']);
});

it('the turn and message thresholds count from the end of the last compaction pass', () => {
  const state = stateOf(100, { head: 60, turns: 25, passed: { head: 50, turns: 16 } });
  expect(evaluate(state, ['turn_threshold'])).toEqual([]);
  expect(evaluate(stateOf(100, { turns: 26, passed: { head: 0, turns: 16 } }), [])).toEqual(['turn_threshold']);
  expect(evaluate(state, [], { messageThreshold: 10 })).toEqual(['message_threshold']);
});

it.each(['turn_end', 'overflow', 'manual'] as const)(
  'the evaluation of a compaction pass keeps the requested reason %s in any state of the conversation',
  (reason) => {
    expect(evaluate(stateOf(100), [reason], { onTurnEnd: true })).toEqual([reason]);
  },
);

it('the evaluation of a compaction pass ignores the reason turn_end if the policy does not compact at a turn’s end', () => {
  expect(evaluate(stateOf(100), ['turn_end'])).toEqual([]);
  expect(evaluate(stateOf(100), ['turn_end'], { onTurnEnd: true, mode: 'manual' })).toEqual([]);
});

it('the evaluation of a compaction pass returns each reason to compact once, in a fixed order', () => {
  expect(evaluate(stateOf(6_000), ['manual', 'token_threshold', 'turn_end'], { onTurnEnd: true })).toEqual([
    'token_threshold',
    'turn_end',
    'manual',
  ]);
});

it.each([
  ['a pass found nothing to do at this size', { nothingBelowTokens: 6_100 }],
  ['passes without gain hold a backoff', { noGainBelowTokens: 6_100, gainlessPasses: 3 }],
])('the evaluation of a compaction pass returns only hard reasons while %s', (_, changes) => {
  const backoff = { ...NO_BACKOFF, ...changes };
  const overhead = prepared.overhead.tokens + 3;
  expect(evaluate(stateOf(6_000, { backoff }), ['token_threshold', 'turn_end'], { onTurnEnd: true })).toEqual([]);
  expect(evaluate(stateOf(6_000, { backoff }), ['manual'])).toEqual(['token_threshold', 'manual']);
  expect(evaluate(stateOf(6_100 - overhead - 1, { backoff }), [])).toEqual([]);
  expect(evaluate(stateOf(6_100 - overhead, { backoff }), [])).toEqual(['token_threshold']);
});

it('the evaluation of a compaction pass returns no soft reason to compact if the policy’s mode is manual', () => {
  expect(evaluate(stateOf(6_000), ['token_threshold'], { mode: 'manual' })).toEqual([]);
  expect(evaluate(stateOf(9_500), ['manual'], { mode: 'manual' })).toEqual(['hard_limit', 'manual']);
});

it('the evaluation of a compaction pass returns no reason if compaction is disabled, even for a manual request', () => {
  expect(evaluate(stateOf(9_500), ['manual', 'overflow'], { enabled: false })).toEqual([]);
});
