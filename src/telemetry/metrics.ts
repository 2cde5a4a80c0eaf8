import { collectDefaultMetrics, type Registry } from 'prom-client';
import type { EventListener } from '../domain/events.ts';
import { countEvents } from './event-catalogue.ts';
import { createGauge, createInstruments, openRegistry } from './instruments.ts';
import { combineListeners } from './listeners.ts';
import { createMeasuredGauges, type Measures } from './measured-gauges.ts';
import { WORKER_GAUGES } from './metric-catalogue.ts';

/** For all measurements. Prometheus gives up on a page after 10 s. */
const MEASURE_DEADLINE_MS = 2_000;

export interface MetricsOptions {
  /** Prefix of the application, which each metric has as a label. */
  readonly prefix?: string | undefined;
  readonly concurrency?: Readonly<Record<string, number>>;
  readonly measureDeadlineMs?: number;
  readonly onEvent?: EventListener;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

export interface Metrics {
  readonly listener: EventListener;
  /** Registry of this worker alone, because the metrics of two workers in one process would collide. */
  readonly registry: Registry;
  /** Connects the gauges. Call once, after Redis is connected. Events may arrive earlier. */
  measure(measures: Measures): void;
  /** If a measurement fails, only its gauges are missing. */
  render(): Promise<MetricsPage>;
}

/** Metrics of one worker process, with Node's event-loop lag, heap and garbage collection. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { measureDeadlineMs = MEASURE_DEADLINE_MS, concurrency, prefix } = options;
  const registry = openRegistry(prefix);
  const instruments = createInstruments(registry);
  const listener = countEvents(instruments);
  const report = combineListeners(listener, ...(options.onEvent === undefined ? [] : [options.onEvent]));
  const measure = (measures: Measures): void =>
    createMeasuredGauges(registry, measures, {
      deadlineMs: measureDeadlineMs,
      onFailure: (name, error) => {
        instruments.measureFailures.inc({ measure: name });
        report({ type: 'worker_failed', where: `measure ${name}`, error });
      },
    });
  if (concurrency !== undefined) showConcurrency(registry, concurrency);
  collectDefaultMetrics({ register: registry, prefix: 'turnfold_' });
  const render = shareRendering(async () => ({ contentType: registry.contentType, body: await registry.metrics() }));
  return { listener, registry, measure, render };
}

/** Concurrent scrapes share one rendering. 500 renderings at once would block the process for a second. */
function shareRendering(render: () => Promise<MetricsPage>): () => Promise<MetricsPage> {
  let rendering: Promise<MetricsPage> | undefined;
  return () => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return rendering;
  };
}

function showConcurrency(registry: Registry, concurrency: Readonly<Record<string, number>>): void {
  createGauge(WORKER_GAUGES.concurrency, registry, async (gauge) => {
    for (const [role, jobs] of Object.entries(concurrency)) gauge.set({ role }, jobs);
  });
}
