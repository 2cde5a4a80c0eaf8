import { expect, it } from 'vitest';
import type { ModelUsage } from '../../src/domain/model.ts';
import { checkUsage, describeUsage, priceUsage } from '../../src/domain/usage.ts';

const prices = { input: 4, cachedInput: 0.5, cacheWrite: 5, output: 20 };

it('cached and newly cached input have prices of their own', () => {
  const usage = { inputTotal: 1_000_000, cachedInput: 600_000, cacheWrite: 100_000, output: 50_000, outputKept: 0 };
  expect(priceUsage(prices, usage)).toBeCloseTo(0.3 * 4 + 0.6 * 0.5 + 0.1 * 5 + 0.05 * 20, 10);
});

it('a provider that reports more cached tokens than input yields no negative price', () => {
  const usage = { inputTotal: 10, cachedInput: 1_000_000, output: 0, outputKept: 0 };
  expect(priceUsage(prices, usage)).toBeCloseTo(0.5, 10);
});

it('reports no cost without prices, and no cached tokens if the provider reports none', () => {
  const usage = { inputTotal: 7, output: 3, outputKept: 3 };
  expect(describeUsage({}, usage)).toEqual({ inputTokens: 7, outputTokens: 3 });
  const told = describeUsage({ prices }, { ...usage, cachedInput: 2 });
  expect(told).toEqual({ inputTokens: 7, outputTokens: 3, cachedTokens: 2, cost: expect.closeTo(81e-6, 12) });
});

it.each([
  ['no input', { inputTotal: undefined }],
  ['no output', { output: Number.NaN }],
  ['a text', { inputTotal: '7' }],
  ['less than nothing', { output: -1 }],
  ['no end', { inputTotal: Number.POSITIVE_INFINITY }],
  ['a cache that is no count', { cachedInput: null }],
])('ignores a usage with %s', (_, hole) => {
  const usage = { inputTotal: 7, output: 3, outputKept: 3, ...hole } as unknown as ModelUsage;
  expect(checkUsage(usage)).toBeUndefined();
  expect(describeUsage({ prices }, usage)).toEqual({});
});

it('a call without usage costs nothing', () => {
  expect(describeUsage({ prices }, undefined)).toEqual({});
});
