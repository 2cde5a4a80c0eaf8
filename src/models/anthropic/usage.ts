import type { ModelUsage } from '../../domain/model.ts';

/** What of the SDK's usage is read here, of an answer or of one pass over the request. */
export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly output_tokens: number;
}

export function readAnthropicUsage(usage: AnthropicUsage): ModelUsage {
  const cachedInput = usage.cache_read_input_tokens ?? 0;
  const cacheWrite = usage.cache_creation_input_tokens ?? 0;
  const output = usage.output_tokens;
  return {
    inputTotal: usage.input_tokens + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    output,
    outputKept: output,
  };
}
