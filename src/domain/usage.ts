import type { ModelPrices, ModelProfile, ModelUsage } from './model.ts';

const TOKENS_PRICED = 1_000_000;

/** Tokens of a call in events, as the provider counted them. */
export interface UsageFigures {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Tokens of `inputTokens` that came from the provider's cache. */
  readonly cachedTokens?: number;
  /** Cost in US dollars. Absent if the model has no prices. */
  readonly cost?: number;
}

/** @returns undefined if a count is missing or invalid. The other counts of such a usage mean nothing */
export function checkUsage(usage: ModelUsage | undefined): ModelUsage | undefined {
  if (!usage) return undefined; // some adapters return null
  const { inputTotal, output, outputKept, cachedInput = 0, cacheWrite = 0 } = usage;
  return [inputTotal, output, outputKept, cachedInput, cacheWrite].every(isCount) ? usage : undefined;
}

/** Largest count that is accepted. Sums of a thousand such counts are still exact numbers. */
const MAX_COUNT = 1e12;

/** Checks the value in spite of its type, because adapters may pass on a provider's value unchanged. */
function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_COUNT;
}

/** Describes a usage for events. An invalid usage contributes no fields. */
export function describeUsage(
  { prices }: Pick<ModelProfile, 'prices'>,
  reported: ModelUsage | undefined,
): Partial<UsageFigures> {
  const usage = checkUsage(reported);
  if (usage === undefined) return {};
  const { inputTotal, cachedInput, output } = usage;
  return {
    inputTokens: inputTotal,
    outputTokens: output,
    ...(cachedInput !== undefined && { cachedTokens: cachedInput }),
    ...(prices && { cost: priceUsage(prices, usage) }),
  };
}

/** Computes the price in US dollars. */
export function priceUsage(prices: ModelPrices, usage: ModelUsage): number {
  const { inputTotal, cachedInput = 0, cacheWrite = 0, output } = usage;
  const fresh = Math.max(0, inputTotal - cachedInput - cacheWrite);
  const input = fresh * prices.input + cachedInput * prices.cachedInput + cacheWrite * prices.cacheWrite;
  return (input + output * prices.output) / TOKENS_PRICED;
}
