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

/** Undefined where a provider left a count out, or sent something else: the rest of such a usage says nothing. */
export function checkUsage(usage: ModelUsage | undefined): ModelUsage | undefined {
  if (!usage) return undefined; // or null, as some send it
  const { inputTotal, output, outputKept, cachedInput = 0, cacheWrite = 0 } = usage;
  return [inputTotal, output, outputKept, cachedInput, cacheWrite].every(isCount) ? usage : undefined;
}

/** More tokens than any request has; sums of such counts stay exact. */
const MAX_COUNT = 1e12;

/** Whatever its type says: a provider's own words come through adapters as they are. */
function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_COUNT;
}

/** Nothing of a usage that is none. */
export function describeUsage(
  { prices }: Pick<ModelProfile, 'prices'>,
  told: ModelUsage | undefined,
): Partial<UsageFigures> {
  const usage = checkUsage(told);
  if (usage === undefined) return {};
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
