import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';

/** Options of one provider, under the provider's name, in the form of AI SDK models. */
export type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

/** Properties of a provider that its models do not state. */
export interface ProviderTraits {
  /** Marks the end of a prefix for the provider's prompt cache. Absent if the provider needs no marks. */
  readonly cacheMark?: SharedV4ProviderOptions;
  readonly defaults: ProviderOptions;
  /** True if thinking is bound to the system texts and tools before it (wire rule A8). */
  readonly bindsThinking: boolean;
  /** True if the model sees pictures in tool results. Other providers would send their bytes as text. */
  readonly showsPicturesInResults: boolean;
  readonly takesLaterSystem: boolean;
  /** Key of Claude's `thinking` in `providerOptions`. */
  readonly thinkingOptions?: string;
}

/** Searches the provider's name, because gateways and custom packages have names that contain a provider's name. */
export function traitsOf({
  provider,
  modelId,
}: {
  readonly provider: string;
  readonly modelId: string;
}): ProviderTraits {
  const isBedrock = /bedrock/i.test(provider);
  const isClaude = /claude/i.test(modelId) || /anthropic/i.test(provider);
  // Older Gemini models accept only text in results.
  const isNewGemini = /gemini-(?:[3-9]|\d\d)/i.test(modelId);
  const isResponses = /responses/i.test(provider);
  // Bedrock refuses cache points for models that it does not cache.
  const isMarkedOnBedrock = isBedrock && /claude|nova/i.test(modelId);
  return {
    ...(isClaude && !isBedrock && { cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } } }),
    ...(isMarkedOnBedrock && { cacheMark: { bedrock: { cachePoint: { type: 'default' } } } }),
    // Without `store: false`, later requests would refer to items that OpenAI deletes after 30 days.
    defaults: isResponses ? { openai: { store: false }, azure: { store: false } } : {},
    bindsThinking: isClaude,
    takesLaterSystem: /^(?:openai|azure)\b/i.test(provider),
    showsPicturesInResults: isClaude || isBedrock || isNewGemini || isResponses,
    ...(isClaude && !isBedrock && { thinkingOptions: 'anthropic' }),
  };
}

export function mergeProviderOptions(base: ProviderOptions, over: ProviderOptions = {}): ProviderOptions {
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, { ...base[name], ...over[name] }]));
}
