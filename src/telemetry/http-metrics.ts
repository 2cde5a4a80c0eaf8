import { collectDefaultMetrics } from 'prom-client';
import { toSeconds } from './catalogue/metric-spec.ts';
import { createGauge, createInstrument, openRegistry } from './instruments.ts';
import { HTTP_METRICS } from './metric-catalogue.ts';
import type { MetricsPage } from './metrics.ts';

export interface HttpMetrics {
  /** Records a request. `operation` is undefined if no route matched. */
  record(request: {
    readonly operation: string | undefined;
    readonly status: number;
    readonly durationMs: number;
  }): void;
  render(): Promise<MetricsPage>;
}

/** @param readOpenReaders number of open streams and waits */
export function createHttpMetrics(readOpenReaders: () => number, prefix?: string): HttpMetrics {
  const registry = openRegistry(prefix);
  const { requests, requestSeconds, readers } = HTTP_METRICS;
  const counter = createInstrument(requests, registry);
  const histogram = createInstrument(requestSeconds, registry);
  createGauge(readers, registry, async (gauge) => gauge.set(readOpenReaders()));
  collectDefaultMetrics({ register: registry, prefix: 'turnfold_' });
  return {
    record: ({ operation = 'none', status, durationMs }) => {
      counter.inc({ operation, status: String(status) });
      histogram.observe({ operation }, toSeconds(durationMs));
    },
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}
