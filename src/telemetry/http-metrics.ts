import { Counter, collectDefaultMetrics, Histogram, type Registry } from 'prom-client';
import { createGauge, openRegistry } from './instruments.ts';
import { HTTP_METRICS } from './metric-catalogue.ts';
import type { MetricsPage } from './metrics.ts';

export interface HttpMetrics {
  /** Counts an answered request. `operation` is undefined if no route matched. */
  record(request: {
    readonly operation: string | undefined;
    readonly status: number;
    readonly durationMs: number;
  }): void;
  /** Renders the metrics page in Prometheus' text format. */
  render(): Promise<MetricsPage>;
}

/** Creates the metrics of a process that serves HTTP. @param readOpenReaders number of open streams and waits */
export function createHttpMetrics(readOpenReaders: () => number, prefix?: string): HttpMetrics {
  const registry = openRegistry(prefix);
  const { requests, requestSeconds, readers } = HTTP_METRICS;
  const [counted, timed] = [describe(requests, registry), describe(requestSeconds, registry)];
  const counter = new Counter<string>(counted);
  const histogram = new Histogram<string>({ ...timed, buckets: [...requestSeconds.buckets] });
  createGauge(readers, registry, async (gauge) => gauge.set(readOpenReaders()));
  collectDefaultMetrics({ register: registry, prefix: 'turnfold_' });
  return {
    record: ({ operation = 'none', status, durationMs }) => {
      counter.inc({ operation, status: String(status) });
      histogram.observe({ operation }, durationMs / 1_000);
    },
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

function describe({ name, help, labels }: Described, registry: Registry) {
  return { name, help, labelNames: [...labels], registers: [registry] };
}
