import { describe, expect, test } from 'vitest';
import { planLine, settledLine, settleLine } from './passes.ts';

const summarizing = { maxTokens: 1_000, retentionWindow: 2, keepFirstUser: false, minSequenceTokens: 256 };

describe('planning only summaries that a pass can use', () => {
  test('a plan contains no summaries if unread messages that cannot be shortened exceed the budget anyway', () => {
    const line = 'su(a:300)x4 u t:10 r:1500';
    expect(planLine(line, { policy: summarizing, reasons: ['manual'] })).toMatchObject({ sequences: [] });
    expect(settleLine(line, { policy: summarizing, reasons: ['manual'] })).toMatchObject({ kind: 'infeasible' });
  });

  test('a planned summary fits the byte limit of the provider if that limit is smaller than the token budget', () => {
    const line = 'su(a:1000)x10 u';
    const model = { windowTokens: 40_000, outputCapTokens: 1_000, upperBoundFactor: 1, maxRequestBytes: 10_000 };
    const setting = { policy: { ...summarizing, maxTokens: 8_000 }, model, reasons: ['manual' as const] };
    const [sequence] = planLine(line, setting).sequences;
    // The alphabet counts four bytes a token.
    expect((sequence?.maxTokens ?? 0) * 4).toBeLessThanOrEqual(8_000);
    expect(settledLine(line, setting, [sequence?.maxTokens]).summaryKeys).toHaveLength(1);
  });

  test.each([
    [700, 0.4],
    [4_000, 0.6],
  ])(
    'in a budget of %i tokens, a larger unread result leaves a share of %f to summaries and newer messages',
    (maxTokens, share) => {
      const policy = { ...summarizing, maxTokens, minSequenceTokens: 24 };
      const { division } = planLine('su(a:300)x40 u t:10 r:9000', { policy, reasons: ['token_threshold'] });

      const { users = 0, summaries = 0, tail = 0 } = division ?? {};
      expect((users + summaries + tail) / maxTokens).toBeCloseTo(share, 1);
    },
  );
});
