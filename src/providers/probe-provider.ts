import { openAnthropicClient as openAnthropic } from './anthropic/client.ts';
import { openOpenAiClient as openOpenAi } from './openai/client.ts';
import { openAgent } from './provider-call.ts';

interface ProbedProvider {
  readonly maker: 'anthropic' | 'openai';
  readonly apiKey: string;
  readonly baseUrl?: string | undefined;
}

export type ProbeOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable' };

const ANSWER_MS = 10_000;

/**
 * Probes a provider by listing its models, which needs the key and costs no tokens. Never throws, and never quotes the
 * provider.
 */
export async function probeProvider({ maker, apiKey, baseUrl }: ProbedProvider): Promise<ProbeOutcome> {
  const dispatcher = openAgent();
  const connection = { apiKey, ...(baseUrl !== undefined && { baseUrl }) };
  const options = { signal: AbortSignal.timeout(ANSWER_MS) };
  try {
    if (maker === 'anthropic') await openAnthropic(connection, dispatcher).models.list({ limit: 1 }, options);
    else await openOpenAi(connection, dispatcher).models.list(options);
    return { kind: 'answered' };
  } catch (error) {
    const status = error instanceof Error && 'status' in error ? error.status : undefined;
    return typeof status === 'number' ? { kind: 'refused', status } : { kind: 'unreachable' };
  } finally {
    await dispatcher.destroy();
  }
}
