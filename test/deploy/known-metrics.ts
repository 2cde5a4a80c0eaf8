import { PROCESS, PROMETHEUS } from '../../deploy/grafana/source/foreign-metrics.ts';
import { GAUGES, METRICS, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { readSelectors } from './promql-names.ts';

export interface KnownSeries {
  readonly type: MetricSpec['type'];
  /** Own labels. A scrape adds `job` and `instance`. */
  readonly labels: readonly string[];
}

/** Every series that a query may name: the catalogue's, those of a worker's Node process, and Prometheus' own. */
export async function listKnownMetrics(): Promise<ReadonlyMap<string, KnownSeries>> {
  const { body } = await createMetrics().render();
  const specs: readonly MetricSpec[] = [METRICS, GAUGES, PROMETHEUS].flatMap((group) =>
    Object.values<MetricSpec>(group),
  );
  // Metrics of prom-client are read from a page, not from a list.
  const shown = Object.values<MetricSpec>(PROCESS).filter(({ name, type }) =>
    body.includes(`# TYPE ${name} ${type}\n`),
  );
  return new Map([...specs, ...shown].flatMap(listSeries));
}

function listSeries({ name, type, labels }: MetricSpec): [string, KnownSeries][] {
  if (type !== 'histogram') return [[name, { type, labels }]];
  return [
    [`${name}_bucket`, { type: 'counter', labels: [...labels, 'le'] }],
    [`${name}_sum`, { type: 'counter', labels }],
    [`${name}_count`, { type: 'counter', labels }],
  ];
}

/** Metrics and labels that a query names and that do not exist. */
export function findUnknownNames(query: string, known: ReadonlyMap<string, KnownSeries>): string[] {
  return readSelectors(query).flatMap(({ metric, matched, grouped }) => {
    const series = known.get(metric);
    if (series === undefined) return [`${metric} in ${query}`];
    const unknown = [...matched, ...grouped].filter((label) => !['job', 'instance', ...series.labels].includes(label));
    return unknown.map((label) => `${metric}: ${label} in ${query}`);
  });
}
