import { expect, it } from 'vitest';
import type { ModelUsage } from '../../src/domain/model.ts';
import { checkUsage, describeUsage, priceOf, priceUsage, toTurnUsage } from '../../src/domain/usage.ts';

const prices = { input: 4, cachedInput: 0.5, cacheWrite: 5, output: 20 };

it('priceUsage uses separate prices for input read from the cache and written to the cache', () => {
  const usage = { inputTotal: 1_000_000, cachedInput: 600_000, cacheWrite: 100_000, output: 50_000, outputKept: 0 };
  expect(priceUsage(prices, usage)).toBeCloseTo(0.3 * 4 + 0.6 * 0.5 + 0.1 * 5 + 0.05 * 20, 10);
});

it('priceUsage never counts fewer than zero uncached tokens', () => {
  const usage = { inputTotal: 10, cachedInput: 1_000_000, output: 0, outputKept: 0 };
  expect(priceUsage(prices, usage)).toBeCloseTo(0.5, 10);
});

it('describeUsage omits the cost without prices, and cached tokens that the provider did not report', () => {
  const usage = { inputTotal: 7, output: 3, outputKept: 3 };
  expect(describeUsage({}, usage)).toEqual({ inputTokens: 7, outputTokens: 3 });
  const priced = describeUsage({ prices }, { ...usage, cachedInput: 2 });
  expect(priced).toEqual({ inputTokens: 7, outputTokens: 3, cachedTokens: 2, cost: expect.closeTo(81e-6, 12) });
});

it.each([
  ['no input count', { inputTotal: undefined }],
  ['an output that is no number', { output: Number.NaN }],
  ['a text as input count', { inputTotal: '7' }],
  ['a negative output', { output: -1 }],
  ['an infinite input', { inputTotal: Number.POSITIVE_INFINITY }],
  ['a null cache count', { cachedInput: null }],
])('checkUsage ignores a usage report with %s', (_, hole) => {
  const usage = { inputTotal: 7, output: 3, outputKept: 3, ...hole } as unknown as ModelUsage;
  expect(checkUsage(usage)).toBeUndefined();
  expect(describeUsage({ prices }, usage)).toEqual({});
});

it('describeUsage returns no fields for a call without a usage report', () => {
  expect(describeUsage({ prices }, undefined)).toEqual({});
});

it('priceOf counts whole millionths of a dollar, so that sums are exact', () => {
  const usage = { inputTotal: 1_001, cachedInput: 500, output: 7, outputKept: 7 };
  expect(priceOf(usage, prices)).toBe(Math.round(501 * 4 + 500 * 0.5 + 7 * 20));
  expect(priceOf(usage, { ...prices, input: 0.0001, cachedInput: 0, output: 0 })).toBe(0);
});

it('toTurnUsage has no price if no prices are known, and nothing if the report is invalid', () => {
  const usage = { inputTotal: 100, output: 7, outputKept: 7 };
  expect(toTurnUsage(usage, {})).toEqual({ inputTokens: 100, outputTokens: 7 });
  expect(toTurnUsage({ ...usage, output: Number.NaN }, { prices })).toBeUndefined();
  expect(toTurnUsage({ ...usage, cachedInput: 40 }, { prices })).toMatchObject({ cachedTokens: 40 });
});
