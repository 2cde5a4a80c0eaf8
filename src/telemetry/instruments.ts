import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DEFAULT_PREFIX } from '../domain/namespace.ts';
import { METRICS, type MetricSpec } from './metric-catalogue.ts';

type LabelOf<Spec extends MetricSpec> = Spec['labels'][number];

type InstrumentOf<Spec extends MetricSpec> = Spec['type'] extends 'counter'
  ? Counter<LabelOf<Spec>>
  : Histogram<LabelOf<Spec>>;

/** Each metric of an application with a prefix has the prefix as a label. */
export function openRegistry(prefix = DEFAULT_PREFIX): Registry {
  const registry = new Registry();
  if (prefix !== DEFAULT_PREFIX) registry.setDefaultLabels({ prefix });
  return registry;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/**
 * Adds Node's event-loop lag, heap and garbage collection. Concurrent scrapes share one rendering: 500 renderings at
 * once would block the process for a second.
 */
export function openPage(registry: Registry): () => Promise<MetricsPage> {
  collectDefaultMetrics({ register: registry, prefix: 'turnfold_' });
  const render = async (): Promise<MetricsPage> => ({
    contentType: registry.contentType,
    body: await registry.metrics(),
  });
  let rendering: Promise<MetricsPage> | undefined;
  return () => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return rendering;
  };
}

export type Instruments = { readonly [Key in keyof typeof METRICS]: InstrumentOf<(typeof METRICS)[Key]> };

export function createInstruments(registry: Registry): Instruments {
  const created = Object.entries<MetricSpec>(METRICS).map(([key, spec]) => [key, createInstrument(spec, registry)]);
  return Object.fromEntries(created) as Instruments;
}

export function createInstrument<const Spec extends MetricSpec>(spec: Spec, registry: Registry): InstrumentOf<Spec> {
  const { type, buckets = [], start = [] }: MetricSpec = spec;
  const common = describeMetric<MetricSpec>(spec, registry);
  if (type === 'counter') {
    const counter = new Counter(common);
    for (const labels of start) counter.inc(labels, 0);
    return counter as InstrumentOf<Spec>;
  }
  const histogram = new Histogram({ ...common, buckets: [...buckets] });
  for (const labels of start) histogram.zero(labels);
  return histogram as InstrumentOf<Spec>;
}

/** @param collect sets the gauge at every scrape */
export function createGauge<const Spec extends MetricSpec>(
  spec: Spec,
  registry: Registry,
  collect: (gauge: Gauge<LabelOf<Spec>>) => Promise<void>,
): void {
  const gauge: Gauge<LabelOf<Spec>> = new Gauge<LabelOf<Spec>>({
    ...describeMetric(spec, registry),
    collect: () => collect(gauge),
  });
}

function describeMetric<Spec extends MetricSpec>({ name, help, labels }: Spec, registry: Registry) {
  return { name, help, labelNames: [...labels] as LabelOf<Spec>[], registers: [registry] };
}
