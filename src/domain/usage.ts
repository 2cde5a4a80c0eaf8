import type { ModelPrices, ModelProfile, ModelUsage } from './model.ts';

const TOKENS_PRICED = 1_000_000;

/** What events tell of a call's tokens, as the provider counted them. */
export interface UsageFigures {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** of `inputTokens`: read from the provider's cache */
  readonly cachedTokens?: number;
  /** US dollars; absent where the model has no prices */
  readonly cost?: number;
}

export function describeUsage({ prices }: Pick<ModelProfile, 'prices'>, usage: ModelUsage): UsageFigures {
  const { inputTotal, cachedInput, output } = usage;
  return {
    inputTokens: inputTotal,
    outputTokens: output,
    ...(cachedInput !== undefined && { cachedTokens: cachedInput }),
    ...(prices && { cost: priceUsage(prices, usage) }),
  };
}

/** US dollars. */
export function priceUsage(prices: ModelPrices, usage: ModelUsage): number {
  const { inputTotal, cachedInput = 0, cacheWrite = 0, output } = usage;
  const fresh = Math.max(0, inputTotal - cachedInput - cacheWrite);
  const input = fresh * prices.input + cachedInput * prices.cachedInput + cacheWrite * prices.cacheWrite;
  return (input + output * prices.output) / TOKENS_PRICED;
}
