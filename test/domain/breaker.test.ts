import { describe, expect, test } from 'vitest';
import { isGateShut, nextGate, shutForAppends } from '../../src/domain/compaction/breaker.ts';
import { type Gate, OPEN_GATE } from '../../src/domain/conversation.ts';
import type { PassOutcome } from '../../src/domain/pass.ts';

const noGain: PassOutcome = { kind: 'no_gain' };

function afterPasses(outcomes: readonly PassOutcome[], tokens = 1_000, stepTokens = 256): Gate {
  return outcomes.reduce((gate, outcome) => nextGate(gate, outcome, tokens, stepTokens), OPEN_GATE);
}

describe('gate', () => {
  test.each<PassOutcome>([{ kind: 'none' }, { kind: 'no_reason' }, { kind: 'infeasible' }, noGain])(
    'after $kind it is shut until something may have changed',
    (outcome) => {
      const gate = afterPasses([outcome]);
      expect(isGateShut(gate, 1_000)).toBe(true);
      expect(isGateShut(gate, 1_255)).toBe(true);
      expect(isGateShut(gate, 1_256)).toBe(false);
    },
  );

  test('even where a step weighs nothing, the same size does not ask again', () => {
    const gate = afterPasses([{ kind: 'none' }], 1_000, 0);
    expect(isGateShut(gate, 1_000)).toBe(true);
    expect(isGateShut(gate, 1_001)).toBe(false);
  });

  test('a commit opens it, what failed or may not look inside a thinking loop leaves it as it is', () => {
    const shut = afterPasses([noGain, noGain]);
    expect(nextGate(shut, { kind: 'committed', version: 4 }, 1_000, 256)).toStrictEqual(OPEN_GATE);
    expect(nextGate(shut, { kind: 'failed', code: 'conflict' }, 1_000, 256)).toBe(shut);
    expect(nextGate(shut, { kind: 'thinking' }, 1_000, 256)).toBe(shut);
    expect(isGateShut(OPEN_GATE, 0)).toBe(false);
  });
});

describe('what holds an append, in tokens of the messages alone', () => {
  const shut: Gate = { shutBelowTokens: 1_256, gainlessPasses: 0, breakerTokens: 0 };
  const at = { tokens: 1_000, messageTokens: 300, calibration: 1 };

  test.each([
    ['as far off as what shuts the gate', shut, at, 556],
    ['the later of gate and breaker', { ...shut, breakerTokens: 1_500 }, at, 800],
    ['the hard limit, where that comes first', shut, { ...at, hardTokens: 1_100 }, 400],
    ['not the hard limit where that is reached', shut, { ...at, hardTokens: 1_000 }, 556],
    ['fewer tokens where the model counts more', shut, { ...at, calibration: 2 }, 428],
    ['nothing where the gate has opened since', shut, { ...at, tokens: 2_000, messageTokens: 1_300 }, 1_300],
  ])('is %s', (_, gate, looked, expected) => {
    expect(shutForAppends(gate, looked)).toStrictEqual({ ...gate, shutBelowMessageTokens: expected });
  });

  test('is nothing where the gate is open', () => {
    expect(shutForAppends(OPEN_GATE, at)).toBe(OPEN_GATE);
  });
});

describe('breaker', () => {
  test('three passes in a row without gain open it; 15 % growth closes it', () => {
    expect(afterPasses([noGain, noGain])).toMatchObject({ gainlessPasses: 2, breakerTokens: 0 });
    const open = afterPasses([noGain, noGain, noGain]);
    expect(open).toMatchObject({ gainlessPasses: 3, breakerTokens: 1_150 });
    const light = { ...open, shutBelowTokens: 0 };
    expect(isGateShut(light, 1_149)).toBe(true);
    expect(isGateShut(light, 1_150)).toBe(false);
  });

  test('the next one without gain opens it again at once, from the new size', () => {
    const open = afterPasses([noGain, noGain, noGain]);
    expect(nextGate(open, noGain, 2_000, 256)).toMatchObject({ gainlessPasses: 4, breakerTokens: 2_300 });
  });

  test('a pass with nothing to do does not count, and does not begin the count anew', () => {
    const gate = afterPasses([noGain, { kind: 'none' }, noGain, { kind: 'infeasible' }, noGain]);
    expect(gate).toMatchObject({ gainlessPasses: 3, breakerTokens: 1_150 });
  });

  test.each(['rejected', 'expired'] as const)('what was %s opens it at once: the content has to grow', (kind) => {
    expect(afterPasses([noGain, { kind }])).toMatchObject({ gainlessPasses: 1, breakerTokens: 1_150 });
  });

  test('what was approved closes it', () => {
    expect(afterPasses([noGain, noGain, noGain, { kind: 'approved', version: 2 }])).toStrictEqual(OPEN_GATE);
  });

  test('a commit between them begins it anew', () => {
    const gate = afterPasses([noGain, noGain, { kind: 'committed', version: 1 }, noGain]);
    expect(gate).toMatchObject({ gainlessPasses: 1, breakerTokens: 0 });
  });
});
