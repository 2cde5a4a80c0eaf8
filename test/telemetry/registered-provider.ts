import { context, propagation, trace } from '@opentelemetry/api';
import type { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll } from 'vitest';

/** Registers the provider globally for the tests that follow, and for no other file of the process. */
export function useProvider(provider: NodeTracerProvider): void {
  beforeAll(() => provider.register());
  afterAll(async () => {
    await provider.shutdown();
    for (const api of [trace, context, propagation]) api.disable();
  });
}
