import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';

/** Options of one provider, under its own name, as AI SDK models take them. */
export type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

/** Properties of a provider that the specification of its models does not show. */
export interface ProviderTraits {
  /** Options that mark the end of a prefix for the provider's prompt cache. Absent if the provider needs no marks. */
  readonly cacheMark?: SharedV4ProviderOptions;
  readonly defaults: ProviderOptions;
  /** True if the provider binds thinking to the system texts and tools before it (wire rule A8). */
  readonly bindsThinking: boolean;
  /** True if the provider shows the pictures in tool results to the model. Others would send their bytes as text. */
  readonly showsPicturesInResults: boolean;
  /** True if the provider takes a system message behind other messages. */
  readonly takesLaterSystem: boolean;
  /** Name in `providerOptions` under which Claude's `thinking` is set. */
  readonly thinkingOptions?: string;
}

/** Compares the name and not the package, because gateways and custom providers use the names of others. */
export function traitsOf({
  provider,
  modelId,
}: {
  readonly provider: string;
  readonly modelId: string;
}): ProviderTraits {
  const isBedrock = /bedrock/i.test(provider);
  const isClaude = /claude/i.test(modelId) || /anthropic/i.test(provider);
  // Older Gemini models take only text in results.
  const isNewGemini = /gemini-(?:[3-9]|\d\d)/i.test(modelId);
  const isResponses = /responses/i.test(provider);
  // Bedrock refuses cache points of models that it does not cache.
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

/** Settings of `over` win. */
export function mergeProviderOptions(base: ProviderOptions, over: ProviderOptions = {}): ProviderOptions {
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, { ...base[name], ...over[name] }]));
}
