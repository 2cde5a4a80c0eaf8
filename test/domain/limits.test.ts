import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLimits, limitsAfterOverflow, type ModelWindow, resolveLimits } from '../../src/domain/limits.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import { errorOf } from './error-of.ts';

const model: ModelWindow = { windowTokens: 12_000, outputCapTokens: 2_000, upperBoundFactor: 1.1 };
const noFixed = { systemTokens: 0, toolTokens: 0, pinTokens: 0 };

describe('limits of a policy with a model', () => {
  test('the usable window is the model window minus the output reserve, which is at most 8,192 tokens', () => {
    expect(resolveLimits(completePolicy({}), model)).toStrictEqual({
      usable: 10_000,
      maxTokens: 5_000,
      ratioTokens: 8_500,
      hardTokens: 9_200,
      upperBoundFactor: 1.1,
    });
    const large = { ...model, windowTokens: 200_000, outputCapTokens: 64_000 };
    expect(resolveLimits(completePolicy({}), large).usable).toBe(200_000 - 8_192);
  });

  test('the default maxTokens is half of the usable window, rounded down, and a configured maxTokens is kept', () => {
    expect(resolveLimits(completePolicy({}), { ...model, windowTokens: 12_001 }).maxTokens).toBe(5_000);
    const given = resolveLimits(completePolicy({ maxTokens: 7_000, tokenThreshold: 8_000 }), model);
    expect(given).toMatchObject({ maxTokens: 7_000, tokenThreshold: 8_000 });
  });

  test('a threshold that is a share of the window is multiplied as in decimal arithmetic', () => {
    // In binary floating point, 0.55 × 100 is 55.00000000000001, which 55 tokens would not reach.
    const policy = completePolicy({ thresholdRatio: 0.55, hardRatio: 0.55 });
    const limits = resolveLimits(policy, { ...model, windowTokens: 2_100 });
    expect(limits).toMatchObject({ usable: 100, ratioTokens: 55, hardTokens: 55 });
  });

  test('soft compaction is requested before turns must wait for compaction, even if turnfold counts a model’s tokens imprecisely', () => {
    const unsure = { ...model, upperBoundFactor: 1.35 };
    const { ratioTokens = 0, usable = 0 } = resolveLimits(completePolicy({}), unsure);
    expect(ratioTokens * 1.35).toBeLessThan(usable);
    expect(ratioTokens).toBeCloseTo((10_000 / 1.35) * (0.85 / 0.92), 3);
    expect(resolveLimits(completePolicy({ thresholdRatio: 0.5 }), unsure).ratioTokens).toBe(5_000);
  });

  test('after a provider refuses a request as too long, maxTokens is at most half of the size of that request', () => {
    const limits = { maxTokens: 5_000, upperBoundFactor: 1.1 };
    expect(limitsAfterOverflow(limits, 3_300).maxTokens).toBe(1_650);
    expect(limitsAfterOverflow(limits, 22_000).maxTokens).toBe(5_000);
    expect(limitsAfterOverflow({ upperBoundFactor: 1 }, 3_000).maxTokens).toBe(1_500);
  });

  test('the byte limit of a context is 80 % of the bytes that the provider accepts in a request', () => {
    expect(resolveLimits(completePolicy({}), { ...model, maxRequestBytes: 1_000_000 }).maxBytes).toBe(800_000);
  });

  test('the limits of a policy without a model have no thresholds as a share of the context window, and no defaults', () => {
    expect(resolveLimits(completePolicy({}))).toStrictEqual({ upperBoundFactor: 1 });
    expect(resolveLimits(completePolicy({ maxTokens: 5, tokenThreshold: 9 }))).toStrictEqual({
      upperBoundFactor: 1,
      maxTokens: 5,
      tokenThreshold: 9,
    });
  });
});

/** Calculates `3 × 4 ÷ 2 = 6` from left to right, ignoring names. */
function calculate(sum: string): number {
  const [first = '', ...rest] = sum.replaceAll(/[A-Za-z-]+/g, '').split(/([×÷])/);
  let value = Number(first);
  for (let index = 0; index + 1 < rest.length; index += 2) {
    value = rest[index] === '×' ? value * Number(rest[index + 1]) : value / Number(rest[index + 1]);
  }
  return value;
}

describe('the calculation in the error about a refused ratio', () => {
  test('the error about an impossible thresholdRatio contains a correct calculation with every factor', () => {
    const shares = fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100);
    const windows = fc.record({
      windowTokens: fc.integer({ min: 10_000, max: 2_000_000 }),
      outputCapTokens: fc.integer({ min: 1, max: 8_192 }),
      upperBoundFactor: fc.constantFrom(1, 1.1, 1.35),
    });
    fc.assert(
      fc.property(shares, shares, windows, (thresholdRatio, hardRatio, window) => {
        const policy = completePolicy({ thresholdRatio, hardRatio, maxTokens: 10_000_000 });
        const error = errorOf(() => checkLimits(policy, resolveLimits(policy, window), noFixed));
        const [, sum = '', result] =
          /^thresholdRatio: (.*) = ([\d.]+) < maxTokens 10000000\./.exec(error.message) ?? [];
        expect(Math.abs(calculate(sum) - Number(result))).toBeLessThan(0.01);
        const limited = window.upperBoundFactor > 1 && sum.includes('upper-bound factor');
        expect(sum.includes(String(thresholdRatio)) || limited || sum.includes(String(hardRatio))).toBe(true);
      }),
    );
  });
});

describe('a policy that could never work is refused at load', () => {
  const load = (input: PolicyInput, fixed = noFixed, window: ModelWindow | undefined = model): void => {
    const policy = completePolicy(input);
    checkLimits(policy, resolveLimits(policy, window), fixed);
  };

  test.each<[string, string, PolicyInput, typeof noFixed | undefined]>([
    [
      'maxTokens',
      'system 300 + tools 200 + pins 100 = 600 >= maxTokens 600',
      { maxTokens: 600 },
      { systemTokens: 300, toolTokens: 200, pinTokens: 100 },
    ],
    ['tokenThreshold', 'tokenThreshold 599 < maxTokens 600', { maxTokens: 600, tokenThreshold: 599 }, undefined],
    [
      'tokenThreshold',
      'tokenThreshold 9201 > hardRatio 0.92 × usable 10000 = 9200',
      { tokenThreshold: 9_201 },
      undefined,
    ],
    ['thresholdRatio', 'thresholdRatio 0.85 × usable 10000 = 8500 < maxTokens 8501', { maxTokens: 8_501 }, undefined],
  ])('checkLimits refuses %s of a policy with the message %s', (field, sum, input, fixed) => {
    const error = errorOf(() => load(input, fixed));
    expect(error).toMatchObject({ code: 'invalid_policy', field, details: { sum: expect.stringContaining(sum) } });
    expect(error.message).toContain(`${field}: ${sum}`);
  });

  test.each<{ input: PolicyInput; fixed?: typeof noFixed }>([
    { input: { maxTokens: 601 }, fixed: { systemTokens: 300, toolTokens: 200, pinTokens: 100 } },
    { input: { maxTokens: 600, tokenThreshold: 600 } },
    { input: { tokenThreshold: 9_200 } },
    { input: { maxTokens: 8_500 } },
    { input: {} },
  ])('checkLimits accepts the setting $input, which is exactly at the limit', ({ input, fixed }) => {
    expect(() => load(input, fixed)).not.toThrow();
  });

  test('checkLimits refuses a model whose output reserve fills its whole window', () => {
    const error = errorOf(() => load({}, noFixed, { ...model, windowTokens: 2_000 }));
    expect(error.field).toBe('maxTokens');
  });

  test('checkLimits of a policy without a model compares only the settings that are given in tokens', () => {
    const policy = completePolicy({ tokenThreshold: 5 });
    expect(() => checkLimits(policy, resolveLimits(policy), noFixed)).not.toThrow();
    const both = completePolicy({ tokenThreshold: 5, maxTokens: 6 });
    expect(errorOf(() => checkLimits(both, resolveLimits(both), noFixed)).field).toBe('tokenThreshold');
  });
});
