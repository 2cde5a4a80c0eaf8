import { describe, expect, test } from 'vitest';
import { backOffAppends, findBackoffCause, nextBackoff } from '../../src/compaction/backoff.ts';
import { type Backoff, NO_BACKOFF } from '../../src/domain/conversation.ts';
import type { PassOutcome } from '../../src/domain/pass.ts';

const isBackedOff = (backoff: Backoff, tokens: number): boolean => findBackoffCause(backoff, tokens) !== undefined;

const noGain: PassOutcome = { kind: 'no_gain' };
const SIZE = { tokens: 1_000, stepTokens: 256 };

function afterPasses(outcomes: readonly PassOutcome[], tokens = 1_000, stepTokens = 256): Backoff {
  return outcomes.reduce((backoff, outcome) => nextBackoff(backoff, outcome, { tokens, stepTokens }), NO_BACKOFF);
}

describe('backoff of compaction', () => {
  test.each<PassOutcome>([{ kind: 'none' }, { kind: 'no_reason' }, noGain])(
    'after a compaction ended as $kind, the next one is requested only when the context has grown by minSequenceTokens',
    (outcome) => {
      const backoff = afterPasses([outcome]);
      expect(isBackedOff(backoff, 1_000)).toBe(true);
      expect(isBackedOff(backoff, 1_255)).toBe(true);
      expect(isBackedOff(backoff, 1_256)).toBe(false);
    },
  );

  test('after a compaction without result, the next one is requested only for a larger context, even if minSequenceTokens is 0', () => {
    const backoff = afterPasses([{ kind: 'none' }], 1_000, 0);
    expect(isBackedOff(backoff, 1_000)).toBe(true);
    expect(isBackedOff(backoff, 1_001)).toBe(false);
  });

  test.each([
    [1_000, 256, 1_256],
    [10_000, 256, 11_500],
  ])(
    'after a compaction of %i tokens ended as infeasible, the next one is requested after 15 %% growth, and after minSequenceTokens %i at least',
    (tokens, stepTokens, end) => {
      const backoff = afterPasses([{ kind: 'infeasible' }], tokens, stepTokens);
      expect(isBackedOff(backoff, end - 1)).toBe(true);
      expect(isBackedOff(backoff, end)).toBe(false);
    },
  );

  test.each(['committed', 'approved'] as const)(
    'a compaction that ends as %s near its threshold starts a backoff of 15 %% growth, but a compaction that ends well below does not',
    (kind) => {
      const after = (softTokens: number) => nextBackoff(NO_BACKOFF, { kind, version: 1 }, { ...SIZE, softTokens });
      expect(after(1_150)).toStrictEqual(NO_BACKOFF);
      expect(after(1_149)).toStrictEqual({ ...NO_BACKOFF, nothingBelowTokens: 1_150 });
      expect(after(900)).toStrictEqual({ ...NO_BACKOFF, nothingBelowTokens: 1_150 });
    },
  );

  test('a committed compaction ends the backoff, and a failed or postponed compaction leaves the backoff unchanged', () => {
    const shut = afterPasses([noGain, noGain]);
    expect(nextBackoff(shut, { kind: 'committed', version: 4 }, SIZE)).toStrictEqual(NO_BACKOFF);
    expect(nextBackoff(shut, { kind: 'failed', code: 'conflict' }, SIZE)).toBe(shut);
    expect(nextBackoff(shut, { kind: 'thinking' }, SIZE)).toBe(shut);
    expect(isBackedOff(NO_BACKOFF, 0)).toBe(false);
  });
});

describe('the context size below which appended messages request no compaction pass', () => {
  const shut: Backoff = { nothingBelowTokens: 1_256, gainlessPasses: 0, noGainBelowTokens: 0 };
  const at = { tokens: 1_000, messageTokens: 300, calibration: 1 };

  test.each([
    ['as far away as the end of the backoff', shut, at, 556],
    ['the later of both backoffs', { ...shut, noGainBelowTokens: 1_500 }, at, 800],
    ['the hard limit, if the hard limit is reached before', shut, { ...at, hardTokens: 1_100 }, 400],
    ['the end of the backoff, if the hard limit is reached already', shut, { ...at, hardTokens: 1_000 }, 556],
    ['fewer tokens, if the model counts more tokens than we do', shut, { ...at, calibration: 2 }, 428],
    ['the present size, if the backoff has ended since', shut, { ...at, tokens: 2_000, messageTokens: 1_300 }, 1_300],
  ])('the context size below which appended messages request no compaction is %s', (_, backoff, size, expected) => {
    expect(backOffAppends(backoff, size)).toStrictEqual({ ...backoff, appendsBelowMessageTokens: expected });
  });

  test('appended messages can request compaction at any context size if no backoff is active', () => {
    expect(backOffAppends(NO_BACKOFF, at)).toBe(NO_BACKOFF);
  });
});

describe('backoff after compaction passes without gain', () => {
  test('a backoff starts after three compactions in a row without gain, and ends after 15 % growth', () => {
    expect(afterPasses([noGain, noGain])).toMatchObject({ gainlessPasses: 2, noGainBelowTokens: 0 });
    const open = afterPasses([noGain, noGain, noGain]);
    expect(open).toMatchObject({ gainlessPasses: 3, noGainBelowTokens: 1_150 });
    const light = { ...open, nothingBelowTokens: 0 };
    expect(isBackedOff(light, 1_149)).toBe(true);
    expect(isBackedOff(light, 1_150)).toBe(false);
  });

  test('after a fourth compaction without gain, a backoff starts again from the new context size', () => {
    const open = afterPasses([noGain, noGain, noGain]);
    expect(nextBackoff(open, noGain, { ...SIZE, tokens: 2_000 })).toMatchObject({
      gainlessPasses: 4,
      noGainBelowTokens: 2_300,
    });
  });

  test('a compaction that found nothing to do does not change the count of compactions without gain', () => {
    const backoff = afterPasses([noGain, { kind: 'none' }, noGain, { kind: 'infeasible' }, noGain]);
    expect(backoff).toMatchObject({ gainlessPasses: 3, noGainBelowTokens: 1_150 });
  });

  test.each(['rejected', 'expired'] as const)(
    'a backoff starts at once after a proposal was %s, because a new compaction would propose the same change again',
    (kind) => {
      expect(afterPasses([noGain, { kind }])).toMatchObject({ gainlessPasses: 1, noGainBelowTokens: 1_150 });
    },
  );

  test('a compaction whose proposal was approved ends the backoff', () => {
    expect(afterPasses([noGain, noGain, noGain, { kind: 'approved', version: 2 }])).toStrictEqual(NO_BACKOFF);
  });

  test('a compaction that commits a smaller context resets the count of compactions without gain', () => {
    const backoff = afterPasses([noGain, noGain, { kind: 'committed', version: 1 }, noGain]);
    expect(backoff).toMatchObject({ gainlessPasses: 1, noGainBelowTokens: 0 });
  });
});
