import { describe, expect, test } from 'vitest';
import {
  evaluateThresholds,
  isOverHardLimit,
  isSendable,
  type ThresholdMeasures,
} from '../../src/compaction/thresholds.ts';
import { sinceLastPass } from '../../src/domain/conversation.ts';
import { type Limits, resolveLimits } from '../../src/domain/limits.ts';
import { hasHardReason, hasTokenReason, REASONS, type Reason } from '../../src/domain/pass.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';

const idle: ThresholdMeasures = { tokens: 0, messages: 0, turns: 0, hasTurnEnded: false };
const model = { windowTokens: 12_000, outputCapTokens: 2_000, upperBoundFactor: 1 };

function evaluate(input: PolicyInput, measures: Partial<ThresholdMeasures>, limits?: Limits): Reason[] {
  const policy = completePolicy(input);
  return evaluateThresholds(policy, limits ?? resolveLimits(policy, model), { ...idle, ...measures });
}

describe('thresholds', () => {
  test.each<[Reason, PolicyInput, Partial<ThresholdMeasures>, Partial<ThresholdMeasures>]>([
    ['token_threshold', { tokenThreshold: 6_000 }, { tokens: 6_000 }, { tokens: 5_999 }],
    ['ratio', {}, { tokens: 8_500 }, { tokens: 8_499 }],
    ['turn_threshold', { turnThreshold: 3 }, { turns: 3 }, { turns: 2 }],
    ['message_threshold', { messageThreshold: 9 }, { messages: 9 }, { messages: 8 }],
    ['turn_end', { onTurnEnd: true }, { hasTurnEnded: true }, { hasTurnEnded: false }],
    ['hard_limit', { mode: 'manual' }, { tokens: 9_200 }, { tokens: 9_199 }],
  ])('the threshold check reports %s at its threshold, and not below', (reason, input, at, below) => {
    expect(evaluate(input, at)).toStrictEqual([reason]);
    expect(evaluate(input, below)).toStrictEqual([]);
  });

  test('the threshold check reports all reasons to compact that apply, in the order of REASONS', () => {
    const input = { tokenThreshold: 5_000, turnThreshold: 1, messageThreshold: 1, onTurnEnd: true };
    const measures = { tokens: 9_900, turns: 1, messages: 2, hasTurnEnded: true };
    expect(evaluate(input, measures)).toStrictEqual(REASONS.slice(0, 6));
  });

  test('the setting `mode: manual` switches off soft reasons to compact, and `enabled: false` switches off all reasons', () => {
    const input = { tokenThreshold: 5_000, turnThreshold: 1, messageThreshold: 1, onTurnEnd: true };
    const measures = { tokens: 9_900, turns: 1, messages: 2, hasTurnEnded: true };
    expect(evaluate({ ...input, mode: 'manual' }, measures)).toStrictEqual(['hard_limit']);
    expect(evaluate({ ...input, enabled: false }, measures)).toStrictEqual([]);
  });

  test('the threshold check never reports a threshold that the policy does not set', () => {
    expect(
      evaluate({}, { tokens: 1e9, turns: 1e9, messages: 1e9, hasTurnEnded: true }, { upperBoundFactor: 1 }),
    ).toEqual([]);
  });

  test('a turn waits for compaction even below the share hardRatio of the window if the provider could refuse its request', () => {
    const limits = resolveLimits(completePolicy({}), { ...model, upperBoundFactor: 1.25 });
    expect(isSendable(limits, 8_000)).toBe(true);
    expect(isSendable(limits, 8_001)).toBe(false);
    expect(isOverHardLimit(limits, 8_000)).toBe(false);
    expect(isOverHardLimit(limits, 8_001)).toBe(true);
    expect(isSendable({ upperBoundFactor: 9 }, 1e9)).toBe(true);
  });

  test('the reasons to compact for which turns wait, and the reasons that concern tokens, are those in the documentation', () => {
    const soft = REASONS.filter((reason) => !hasHardReason([reason]));
    expect(soft).toStrictEqual(['token_threshold', 'ratio', 'turn_threshold', 'message_threshold', 'turn_end']);
    const token = REASONS.filter((reason) => hasTokenReason([reason]));
    expect(token).toStrictEqual(['token_threshold', 'ratio', 'hard_limit', 'overflow', 'manual']);
    expect(hasHardReason(['turn_end', 'manual'])).toBe(true);
    expect(hasHardReason([])).toBe(false);
  });

  test('the turn threshold counts turns since the last compaction, not the whole history', () => {
    const policy = completePolicy({ turnThreshold: 10 });
    const passed = { head: 40, turns: 20 };
    const fires = (turns: number): boolean => {
      const since = sinceLastPass({ head: 60, turns, passed });
      return evaluateThresholds(policy, resolveLimits(policy), { ...idle, ...since }).length > 0;
    };
    expect(fires(29)).toBe(false);
    expect(fires(30)).toBe(true);
    expect(sinceLastPass({ head: 60, turns: 29, passed })).toStrictEqual({ messages: 20, turns: 9 });
  });
});
