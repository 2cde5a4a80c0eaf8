import { expect, test } from 'vitest';
import { calibrationRatio } from '../../src/domain/size.ts';

test.each([
  ['what a provider counts ÷ what we count', 1_100, 1_000, 1.1],
  ['at most 2', 9_000, 1_000, 2],
  ['down to a half', 500, 1_000, 0.5],
  ['not of less: that is not the whole request', 499, 1_000, undefined],
  ['from 256 tokens on', 512, 256, 2],
  ['not of a smaller request', 512, 255, undefined],
  ['not where the provider told none', 0, 1_000, undefined],
  ['not of what is no count', Number.NaN, 1_000, undefined],
])('%s', (_what, provider, counted, ratio) => {
  expect(calibrationRatio(provider, counted)).toBe(ratio);
});
