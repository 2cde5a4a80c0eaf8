import { toSeconds } from './catalogue/metric-spec.ts';
import { createGauge, createInstrument, type MetricsPage, openPage, openRegistry } from './instruments.ts';
import { HTTP_METRICS } from './metric-catalogue.ts';

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
  return {
    record: ({ operation = 'none', status, durationMs }) => {
      counter.inc({ operation, status: String(status) });
      histogram.observe({ operation }, toSeconds(durationMs));
    },
    render: openPage(registry),
  };
}
