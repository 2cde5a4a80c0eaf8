import { TurnfoldError } from '../domain/errors.ts';
import type { ModelPrices, ModelProfile } from '../domain/model.ts';

/** Model profiles by `provider/model`. Add your own with `extendCatalogue`. */
export type Catalogue = ReadonlyMap<string, Omit<ModelProfile, 'id'>>;

/**
 * Anthropic publishes no tokenizer. Its token counts are 20 to 33 % higher than those of o200k_base, and highest for
 * code.
 */
const CLAUDE = { encoding: 'o200k_base', upperBoundFactor: 1.35, maxRequestBytes: 32_000_000 } as const;
const LARGE_CLAUDE = { ...CLAUDE, windowTokens: 1_000_000, outputCapTokens: 128_000 } as const;
const SMALL_CLAUDE = { ...CLAUDE, windowTokens: 200_000, outputCapTokens: 64_000 } as const;
const GPT = { encoding: 'o200k_base', upperBoundFactor: 1.1, maxRequestBytes: 50_000_000 } as const;
/**
 * These models have separate limits for input (922,000 or 272,000 tokens) and output. The window is set to the input
 * limit plus the tokens that turnfold reserves for output.
 */
const GPT_6 = { ...GPT, windowTokens: 930_192, outputCapTokens: 128_000 } as const;
const GPT_5 = { ...GPT, windowTokens: 280_192, outputCapTokens: 128_000 } as const;
const GPT_4 = { ...GPT, windowTokens: 1_047_576, outputCapTokens: 32_768 } as const;

/**
 * Built-in model profiles, as published in November 2026. Windows and output limits are in tokens. Prices are in US
 * dollars for the cheapest tier: very long requests cost more.
 */
export const CATALOGUE: Catalogue = new Map<string, Omit<ModelProfile, 'id'>>([
  ['anthropic/claude-fable-5-1', { ...LARGE_CLAUDE, prices: claudePrices(10, 50) }],
  ['anthropic/claude-opus-5-5', { ...LARGE_CLAUDE, prices: claudePrices(4, 20) }],
  ['anthropic/claude-opus-5', { ...LARGE_CLAUDE, prices: claudePrices(5, 25) }],
  ['anthropic/claude-sonnet-5-5', { ...LARGE_CLAUDE, prices: claudePrices(2, 10) }],
  ['anthropic/claude-sonnet-5', { ...LARGE_CLAUDE, prices: claudePrices(2, 10) }],
  ['anthropic/claude-haiku-5-5', { ...LARGE_CLAUDE, prices: claudePrices(0.1, 0.5) }],
  ['anthropic/claude-opus-4-5', { ...SMALL_CLAUDE, prices: claudePrices(5, 25) }],
  ['anthropic/claude-sonnet-4-5', { ...SMALL_CLAUDE, prices: claudePrices(3, 15) }],
  ['anthropic/claude-haiku-4-5', { ...SMALL_CLAUDE, prices: claudePrices(1, 5) }],
  ['openai/gpt-6-astra', { ...GPT_6, prices: gptPrices(10, 1, 50) }],
  ['openai/gpt-6.1-sol', { ...GPT_6, prices: gptPrices(2, 0.1, 10) }],
  ['openai/gpt-6-sol', { ...GPT_6, prices: gptPrices(2, 0.2, 10) }],
  ['openai/gpt-6-luna', { ...GPT_6, prices: gptPrices(0.1, 0.01, 0.5) }],
  ['openai/gpt-5', { ...GPT_5, prices: gptPrices(1.25, 0.125, 10) }],
  ['openai/gpt-5-mini', { ...GPT_5, prices: gptPrices(0.25, 0.025, 2) }],
  ['openai/gpt-5-nano', { ...GPT_5, prices: gptPrices(0.05, 0.005, 0.4) }],
  ['openai/gpt-4.1', { ...GPT_4, prices: gptPrices(2, 0.5, 8) }],
  ['openai/gpt-4.1-mini', { ...GPT_4, prices: gptPrices(0.4, 0.1, 1.6) }],
  ['openai/gpt-4o', { ...GPT, windowTokens: 128_000, outputCapTokens: 16_384, prices: gptPrices(2.5, 1.25, 10) }],
  [
    'openai/gpt-4o-mini',
    { ...GPT, windowTokens: 128_000, outputCapTokens: 16_384, prices: gptPrices(0.15, 0.075, 0.6) },
  ],
]);

/** Returns the built-in catalogue with entries added or replaced. */
export function extendCatalogue(
  entries: Readonly<Record<string, Omit<ModelProfile, 'id'>>>,
  base: Catalogue = CATALOGUE,
): Catalogue {
  return new Map([...base, ...Object.entries(entries)]);
}

/**
 * Returns the profile of a model. A model name with a date (`claude-sonnet-4-5-20250929`, `gpt-4o-2024-08-06`) uses the
 * profile of the name without the date.
 * @throws invalid_config with the field
 */
export function findProfile(provider: string, model: string, catalogue: Catalogue = CATALOGUE): ModelProfile {
  const family = model.replace(/-\d{4}-?\d{2}-?\d{2}$/, '').replace(/-latest$/, '');
  const found = catalogue.get(`${provider}/${model}`) ?? catalogue.get(`${provider}/${family}`);
  if (found !== undefined) return { ...found, id: model };
  const field = 'model';
  const all = [...catalogue.keys()];
  const known = all.filter((name) => name.startsWith(`${provider}/`));
  const wanted = provider === '' ? model : `${provider}/${model}`;
  throw new TurnfoldError(
    'invalid_config',
    `${field}: the model catalogue has no profile for ${wanted}. Pass a profile with windowTokens, outputCapTokens and encoding. Known models: ${(known.length > 0 ? known : all).join(', ')}`,
    { field },
  );
}

/** Reading from the prompt cache costs 10 % of the input price, writing to it 125 %. */
function claudePrices(input: number, output: number): ModelPrices {
  return { input, cachedInput: input / 10, cacheWrite: input * 1.25, output };
}

/**
 * Newer models charge 125 % of the input price for writing to the prompt cache, older ones 100 %. The higher price is
 * assumed.
 */
function gptPrices(input: number, cachedInput: number, output: number): ModelPrices {
  return { input, cachedInput, cacheWrite: input * 1.25, output };
}
