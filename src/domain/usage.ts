import type { ModelPrices, ModelProfile, ModelUsage } from './model.ts';
import type { TurnUsage } from './turn.ts';

const TOKENS_PRICED = 1_000_000;

interface UsageFigures {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedTokens?: number;
  /** US dollars. Absent if no prices are known. */
  readonly cost?: number;
}

/** Undefined if a count is missing or invalid, because the other counts cannot be trusted either. */
export function checkUsage(usage: ModelUsage | undefined): ModelUsage | undefined {
  if (!usage) return undefined; // some adapters return null
  const { inputTotal, output, outputKept, cachedInput = 0, cacheWrite = 0 } = usage;
  return [inputTotal, output, outputKept, cachedInput, cacheWrite].every(isCount) ? usage : undefined;
}

/** Maximum count of tokens. The sum of a thousand such counts is still an exact number. */
const MAX_COUNT = 1e12;

/** A model adapter may pass on a provider's value unchecked. */
function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_COUNT;
}

/** An invalid report adds no fields. */
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

const MICROS_A_DOLLAR = 1_000_000;

/** Price in whole millionths of a US dollar, so that sums are exact. */
export function priceOf(usage: ModelUsage, prices: ModelPrices): number {
  return toMicros(priceUsage(prices, usage));
}

export function toMicros(dollars: number): number {
  return Math.round(dollars * MICROS_A_DOLLAR);
}

export function toTurnUsage(
  reported: ModelUsage | undefined,
  { prices }: Pick<ModelProfile, 'prices'>,
): TurnUsage | undefined {
  const usage = checkUsage(reported);
  if (usage === undefined) return undefined;
  const { inputTotal, output, cachedInput = 0 } = usage;
  return joinUsage(
    { inputTokens: inputTotal, outputTokens: output, cachedTokens: cachedInput },
    {
      ...NO_USAGE,
      ...(prices !== undefined && { costMicros: priceOf(usage, prices) }),
    },
  );
}

export const NO_USAGE: TurnUsage = { inputTokens: 0, outputTokens: 0 };

/** Cached tokens or costs of 0 are left out. */
export function joinUsage(a: TurnUsage, b: TurnUsage): TurnUsage {
  const cachedTokens = (a.cachedTokens ?? 0) + (b.cachedTokens ?? 0);
  const costMicros = (a.costMicros ?? 0) + (b.costMicros ?? 0);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(costMicros > 0 && { costMicros }),
  };
}

export function pricesAt(prices: ModelPrices, inputTokens: number): Omit<ModelPrices, 'steps'> {
  return prices.steps?.findLast(({ aboveInputTokens }) => inputTokens > aboveInputTokens) ?? prices;
}

export function priceUsage(steps: ModelPrices, usage: ModelUsage): number {
  const { inputTotal, cachedInput = 0, cacheWrite = 0, output } = usage;
  const prices = pricesAt(steps, inputTotal);
  const fresh = Math.max(0, inputTotal - cachedInput - cacheWrite);
  const input = fresh * prices.input + cachedInput * prices.cachedInput + cacheWrite * prices.cacheWrite;
  return (input + output * prices.output) / TOKENS_PRICED;
}
