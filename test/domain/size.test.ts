import { describe, expect, test } from 'vitest';
import {
  calibrationRatio,
  contextSize,
  NO_OVERHEAD,
  type SizeRecord,
  upperBoundTokens,
} from '../../src/domain/size.ts';

const weigh = (tokens: number) => ({ tokens, bytes: tokens * 4 });
const counted: SizeRecord = { version: 1, weight: weigh(100), baseTotal: weigh(900), headTotal: weigh(950) };
const overhead = { tokens: 30, bytes: 120, calibration: 1 };

describe('size of a context', () => {
  test('without a provider’s token count, the context size is the sum of segments, later messages, system prompt, tools and format', () => {
    expect(contextSize(counted, overhead)).toStrictEqual({ tokens: 100 + 50 + 30 + 3, bytes: 4 * 150 + 120 });
    expect(contextSize(counted, NO_OVERHEAD).tokens).toBe(153);
  });

  test('with a provider’s token count, the context size is that count plus the later messages', () => {
    const anchor = { seq: 40, tokens: 400, total: weigh(920), version: 1 };
    expect(contextSize({ ...counted, anchor }, overhead)).toStrictEqual({ tokens: 400 + 30, bytes: 720 });
  });

  test('the context size ignores a provider’s token count for another context version', () => {
    const anchor = { seq: 40, tokens: 400, total: weigh(920), version: 0 };
    expect(contextSize({ ...counted, anchor }, overhead)).toStrictEqual(contextSize(counted, overhead));
  });

  test('the context size ignores a provider’s token count for another system prompt, other tools or another tokenizer', () => {
    const anchor = { seq: 40, tokens: 400, total: weigh(920), version: 1, fingerprint: 'before' };
    const after = { ...overhead, fingerprint: 'after' };
    expect(contextSize({ ...counted, anchor }, after)).toStrictEqual(contextSize(counted, after));
    expect(contextSize({ ...counted, anchor }, { ...overhead, fingerprint: 'before' }).tokens).toBe(430);
  });

  test('the context size uses a provider’s token count if the count or the request has no fingerprint (hash of model, system prompt and tools)', () => {
    const anchor = { seq: 40, tokens: 400, total: weigh(920), version: 1 };
    expect(contextSize({ ...counted, anchor }, { ...overhead, fingerprint: 'after' }).tokens).toBe(430);
    expect(contextSize({ ...counted, anchor: { ...anchor, fingerprint: 'before' } }, overhead).tokens).toBe(430);
  });

  test('the correction factor multiplies turnfold’s own token counts, and leaves a provider’s counts unchanged', () => {
    const anchor = { seq: 40, tokens: 400, total: weigh(920), version: 1 };
    const calibrated = { ...overhead, calibration: 1.2 };
    expect(contextSize({ ...counted, anchor }, calibrated).tokens).toBe(400 + 36);
    expect(contextSize(counted, calibrated).tokens).toBe(Math.round(183 * 1.2));
  });

  test('the upper bound of a token count is never below the count, and equals count times factor if that is a whole number', () => {
    expect(upperBoundTokens(0, 1.1)).toBe(0);
    expect(upperBoundTokens(1, 1.1)).toBe(2);
    // In binary floating point, 1.1 × 50 is 55.00000000000001.
    for (let tokens = 0; tokens <= 100_000; tokens += 10)
      expect(upperBoundTokens(tokens, 1.1)).toBe((tokens / 10) * 11);
    for (let tokens = 0; tokens <= 1_000; tokens += 1) expect(upperBoundTokens(tokens, 1)).toBe(tokens);
  });
});

test.each([
  ['the count of the provider ÷ our count', 1_100, 1_000, 1.1],
  ['at most 2', 9_000, 1_000, 2],
  ['0.5 for a provider that counts half as many tokens', 500, 1_000, 0.5],
  ['undefined for a provider that counts less than half, and so not the whole request', 499, 1_000, undefined],
  ['a number for a request of 256 tokens', 512, 256, 2],
  ['undefined for a request below 256 tokens', 512, 255, undefined],
  ['undefined for a provider that reports 0', 0, 1_000, undefined],
  ['undefined for a provider that reports no number', Number.NaN, 1_000, undefined],
])('the correction factor for token counts is %s', (_result, provider, own, ratio) => {
  expect(calibrationRatio(provider, own)).toBe(ratio);
});
