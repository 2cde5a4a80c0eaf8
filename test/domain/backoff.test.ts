import { describe, expect, test } from 'vitest';
import { backOffAppends, isBackedOff, nextBackoff } from '../../src/domain/compaction/backoff.ts';
import { type Backoff, NO_BACKOFF } from '../../src/domain/conversation.ts';
import type { PassOutcome } from '../../src/domain/pass.ts';

const noGain: PassOutcome = { kind: 'no_gain' };

function afterPasses(outcomes: readonly PassOutcome[], tokens = 1_000, stepTokens = 256): Backoff {
  return outcomes.reduce((backoff, outcome) => nextBackoff(backoff, outcome, tokens, stepTokens), NO_BACKOFF);
}

describe('backoff', () => {
  test.each<PassOutcome>([{ kind: 'none' }, { kind: 'no_reason' }, { kind: 'infeasible' }, noGain])(
    'after $kind it is shut until something may have changed',
    (outcome) => {
      const backoff = afterPasses([outcome]);
      expect(isBackedOff(backoff, 1_000)).toBe(true);
      expect(isBackedOff(backoff, 1_255)).toBe(true);
      expect(isBackedOff(backoff, 1_256)).toBe(false);
    },
  );

  test('the same size does not request a pass again, even with a step of 0 tokens', () => {
    const backoff = afterPasses([{ kind: 'none' }], 1_000, 0);
    expect(isBackedOff(backoff, 1_000)).toBe(true);
    expect(isBackedOff(backoff, 1_001)).toBe(false);
  });

  test('a commit ends the backoff, a failure or a thinking loop leaves it unchanged', () => {
    const shut = afterPasses([noGain, noGain]);
    expect(nextBackoff(shut, { kind: 'committed', version: 4 }, 1_000, 256)).toStrictEqual(NO_BACKOFF);
    expect(nextBackoff(shut, { kind: 'failed', code: 'conflict' }, 1_000, 256)).toBe(shut);
    expect(nextBackoff(shut, { kind: 'thinking' }, 1_000, 256)).toBe(shut);
    expect(isBackedOff(NO_BACKOFF, 0)).toBe(false);
  });
});

describe('the size below which an append requests no pass', () => {
  const shut: Backoff = { nothingBelowTokens: 1_256, gainlessPasses: 0, noGainBelowTokens: 0 };
  const at = { tokens: 1_000, messageTokens: 300, calibration: 1 };

  test.each([
    ['as far off as what shuts the backoff', shut, at, 556],
    ['the later of both backoffs', { ...shut, noGainBelowTokens: 1_500 }, at, 800],
    ['the hard limit, where that comes first', shut, { ...at, hardTokens: 1_100 }, 400],
    ['not the hard limit where that is reached', shut, { ...at, hardTokens: 1_000 }, 556],
    ['fewer tokens where the model counts more', shut, { ...at, calibration: 2 }, 428],
    ['nothing where the backoff has opened since', shut, { ...at, tokens: 2_000, messageTokens: 1_300 }, 1_300],
  ])('is %s', (_, backoff, looked, expected) => {
    expect(backOffAppends(backoff, looked)).toStrictEqual({ ...backoff, appendsBelowMessageTokens: expected });
  });

  test('is absent without a backoff', () => {
    expect(backOffAppends(NO_BACKOFF, at)).toBe(NO_BACKOFF);
  });
});

describe('backoff after gainless passes', () => {
  test('starts after three passes in a row without gain and ends after 15 % growth', () => {
    expect(afterPasses([noGain, noGain])).toMatchObject({ gainlessPasses: 2, noGainBelowTokens: 0 });
    const open = afterPasses([noGain, noGain, noGain]);
    expect(open).toMatchObject({ gainlessPasses: 3, noGainBelowTokens: 1_150 });
    const light = { ...open, nothingBelowTokens: 0 };
    expect(isBackedOff(light, 1_149)).toBe(true);
    expect(isBackedOff(light, 1_150)).toBe(false);
  });

  test('starts again from the new size after the next gainless pass', () => {
    const open = afterPasses([noGain, noGain, noGain]);
    expect(nextBackoff(open, noGain, 2_000, 256)).toMatchObject({ gainlessPasses: 4, noGainBelowTokens: 2_300 });
  });

  test('a pass with nothing to do neither counts nor resets the count', () => {
    const backoff = afterPasses([noGain, { kind: 'none' }, noGain, { kind: 'infeasible' }, noGain]);
    expect(backoff).toMatchObject({ gainlessPasses: 3, noGainBelowTokens: 1_150 });
  });

  test.each(['rejected', 'expired'] as const)(
    'starts at once after a pass that was %s, because the content has to grow',
    (kind) => {
      expect(afterPasses([noGain, { kind }])).toMatchObject({ gainlessPasses: 1, noGainBelowTokens: 1_150 });
    },
  );

  test('ends with an approved pass', () => {
    expect(afterPasses([noGain, noGain, noGain, { kind: 'approved', version: 2 }])).toStrictEqual(NO_BACKOFF);
  });

  test('a commit between gainless passes resets their count', () => {
    const backoff = afterPasses([noGain, noGain, { kind: 'committed', version: 1 }, noGain]);
    expect(backoff).toMatchObject({ gainlessPasses: 1, noGainBelowTokens: 0 });
  });
});
