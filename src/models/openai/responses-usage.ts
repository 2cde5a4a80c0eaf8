import type OpenAI from 'openai';
import type { ModelUsage } from '../../domain/model.ts';

/** Reasoning is sent again, sealed, while the version holds. Compatible servers leave the details out. */
export function readResponsesUsage({
  input_tokens,
  output_tokens,
  ...details
}: OpenAI.Responses.ResponseUsage): ModelUsage {
  const input: Partial<typeof details.input_tokens_details> = details.input_tokens_details ?? {};
  return {
    inputTotal: input_tokens,
    cachedInput: input.cached_tokens ?? 0,
    cacheWrite: input.cache_write_tokens ?? 0,
    output: output_tokens,
    outputKept: output_tokens,
  };
}
