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

/** Lists a provider's models, which needs the key and costs no tokens. Never throws, and never quotes the provider. */
export async function probeProvider(provider: ProbedProvider): Promise<ProbeOutcome> {
  try {
    await listModels(provider);
    return { kind: 'answered' };
  } catch (error) {
    const status = error instanceof Error && 'status' in error ? error.status : undefined;
    return typeof status === 'number' ? { kind: 'refused', status } : { kind: 'unreachable' };
  }
}

async function listModels({ maker, ...connection }: ProbedProvider): Promise<void> {
  if (maker === 'anthropic') {
    const { openAnthropic } = await import('./anthropic/client.ts');
    const { client, dispatcher } = openAnthropic(connection);
    await using _ = { [Symbol.asyncDispose]: () => dispatcher.destroy() };
    await client.models.list({ limit: 1 }, { signal: AbortSignal.timeout(ANSWER_MS) });
  } else {
    const { openOpenAi } = await import('./openai/client.ts');
    const { client, dispatcher } = openOpenAi(connection);
    await using _ = { [Symbol.asyncDispose]: () => dispatcher.destroy() };
    await client.models.list({ signal: AbortSignal.timeout(ANSWER_MS) });
  }
}
