import { beforeAll, describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/compaction/thresholds.ts';
import { type ConversationState, NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { NO_WEIGHT } from '../../../src/domain/message.ts';
import { completePolicy, type PolicyInput } from '../../../src/domain/policy.ts';
import { evaluateRequest } from '../../../src/workers/compaction/pass-snapshot.ts';
import type { PreparedAgent } from '../../../src/workers/prepared-agent.ts';
import { Fixture } from './fixture.ts';

let prepared: PreparedAgent;

beforeAll(async () => {
  const profile = { windowTokens: 10_500, outputCapTokens: 500 };
  prepared = (await Fixture.open({ profile, policy: { tokenThreshold: 5_000, turnThreshold: 10 } })).agent;
});

/** A conversation of so many tokens. */
function stateOf(tokens: number, changes: Partial<ConversationState> = {}): ConversationState {
  return {
    agent: 'guide',
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

describe('the reasons of a pass, on fresh state', () => {
  it('are those that hold now: one that was true when it was asked for may be so no longer', () => {
    expect(evaluate(stateOf(1_000), ['token_threshold', 'ratio', 'turn_threshold', 'hard_limit'])).toEqual([]);
    expect(evaluate(stateOf(6_000), ['ratio'])).toEqual(['token_threshold']);
    expect(evaluate(stateOf(9_500), [])).toEqual(['token_threshold', 'ratio', 'hard_limit']);
  });

  it('count turns and messages from the end of the last pass', () => {
    const state = stateOf(100, { head: 60, turns: 25, passed: { head: 50, turns: 16 } });
    expect(evaluate(state, ['turn_threshold'])).toEqual([]);
    expect(evaluate(stateOf(100, { turns: 26, passed: { head: 0, turns: 16 } }), [])).toEqual(['turn_threshold']);
    expect(evaluate(state, [], { messageThreshold: 10 })).toEqual(['message_threshold']);
  });

  it.each(['turn_end', 'overflow', 'manual'] as const)('keep %s: no state can contradict it', (reason) => {
    expect(evaluate(stateOf(100), [reason], { onTurnEnd: true })).toEqual([reason]);
  });

  it('leave out the end of a turn where the policy does not want passes then', () => {
    expect(evaluate(stateOf(100), ['turn_end'])).toEqual([]);
    expect(evaluate(stateOf(100), ['turn_end'], { onTurnEnd: true, mode: 'manual' })).toEqual([]);
  });

  it('stand in one order and once each', () => {
    expect(evaluate(stateOf(6_000), ['manual', 'token_threshold', 'turn_end'], { onTurnEnd: true })).toEqual([
      'token_threshold',
      'turn_end',
      'manual',
    ]);
  });

  it.each([
    ['nothing was to be done at this size', { nothingBelowTokens: 6_100 }],
    ['the breaker is open', { noGainBelowTokens: 6_100, gainlessPasses: 3 }],
  ])('are none but hard ones while %s', (_, changes) => {
    const backoff = { ...NO_BACKOFF, ...changes };
    const overhead = prepared.overhead.tokens + 3;
    expect(evaluate(stateOf(6_000, { backoff }), ['token_threshold', 'turn_end'], { onTurnEnd: true })).toEqual([]);
    expect(evaluate(stateOf(6_000, { backoff }), ['manual'])).toEqual(['token_threshold', 'manual']);
    expect(evaluate(stateOf(6_100 - overhead - 1, { backoff }), [])).toEqual([]);
    expect(evaluate(stateOf(6_100 - overhead, { backoff }), [])).toEqual(['token_threshold']);
  });

  it('of mode manual leave out soft ones', () => {
    expect(evaluate(stateOf(6_000), ['token_threshold'], { mode: 'manual' })).toEqual([]);
    expect(evaluate(stateOf(9_500), ['manual'], { mode: 'manual' })).toEqual(['hard_limit', 'manual']);
  });

  it('are none where compaction is off, whoever asks', () => {
    expect(evaluate(stateOf(9_500), ['manual', 'overflow'], { enabled: false })).toEqual([]);
  });
});
