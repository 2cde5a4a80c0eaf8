import { describe, expect, test } from 'vitest';
import { evaluateThresholds, type ThresholdMeasures } from '../../src/domain/compaction/thresholds.ts';
import { sinceLastPass } from '../../src/domain/conversation.ts';
import { resolveLimits } from '../../src/domain/limits.ts';
import { completePolicy, mergePolicies } from '../../src/domain/policy.ts';
import { contextSize, NO_OVERHEAD, type SizeRecord } from '../../src/domain/size.ts';

const idle: ThresholdMeasures = { tokens: 0, messages: 0, turns: 0, hasTurnEnded: false };

describe('counting and triggers: what earlier systems got wrong', () => {
  test('the turn threshold counts turns since the last pass, not over the whole history', () => {
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

  test('a usage report of an earlier version is ignored, and the stored counts are used', () => {
    const record: SizeRecord = {
      version: 3,
      weight: { tokens: 100, bytes: 400 },
      baseTotal: { tokens: 5_000, bytes: 20_000 },
      headTotal: { tokens: 5_040, bytes: 20_160 },
      anchor: { seq: 90, tokens: 5_100, total: { tokens: 5_000, bytes: 20_000 }, version: 2 },
    };
    expect(contextSize(record, NO_OVERHEAD).tokens).toBe(100 + 40 + 3);
    expect(contextSize({ ...record, version: 2 }, NO_OVERHEAD).tokens).toBe(5_100 + 40);
  });

  test('a ratio is a share of the usable window, and a lower token threshold comes first', () => {
    const policy = completePolicy({ tokenThreshold: 20_000, maxTokens: 10_000 });
    const limits = resolveLimits(policy, { windowTokens: 1_300_000, outputCapTokens: 60_000, upperBoundFactor: 1.1 });
    expect(limits.usable).toBe(1_300_000 - 8_192);
    expect(evaluateThresholds(policy, limits, { ...idle, tokens: 19_999 })).toStrictEqual([]);
    expect(evaluateThresholds(policy, limits, { ...idle, tokens: 20_000 })).toStrictEqual(['token_threshold']);
  });

  test('an agent that sets one policy field keeps the other fields of the base policy', () => {
    const merged = mergePolicies({ retentionWindow: 20, mode: 'manual' }, { minGain: 0.2 });
    expect(completePolicy(merged)).toMatchObject({ retentionWindow: 20, mode: 'manual', minGain: 0.2 });
  });
});
