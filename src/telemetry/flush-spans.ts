import { ProxyTracerProvider, type TracerProvider, trace } from '@opentelemetry/api';

/** An exporter whose server is gone must not keep a process that was told to stop. */
const DEADLINE_MS = 2_000;

/**
 * Has the SDK that the process registered send what it still holds: they send in batches, and a process that ends takes the
 * last one with it. Not a shutdown: the SDK belongs to whoever registered it. The interface alone knows no flush; every SDK
 * of OpenTelemetry's has one by this name, and one without is left alone.
 */
export async function flushSpans(): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DEADLINE_MS);
  try {
    await Promise.race([findProvider().forceFlush?.(), deadline]);
  } catch {
    // The SDK tells of it by its own diagnostics.
  } finally {
    clearTimeout(timer);
  }
}

function findProvider(): TracerProvider & { forceFlush?: () => Promise<void> } {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}
