import type { Registry } from 'prom-client';
import type { EventListener } from '../domain/events.ts';
import { countEvents } from './event-catalogue.ts';
import { createGauge, createInstruments, type MetricsPage, openPage, openRegistry } from './instruments.ts';
import { combineListeners } from './listeners.ts';
import { createMeasuredGauges, type Measures } from './measured-gauges.ts';
import { WORKER_GAUGES } from './metric-catalogue.ts';

/** ms for each measurement of a page. All run at once. Prometheus gives up on a page after 10 s. */
const MEASURE_DEADLINE_MS = 2_000;

export interface MetricsOptions {
  /** Prefix of the application, which each metric has as a label. */
  readonly prefix?: string | undefined;
  readonly concurrency?: Readonly<Record<string, number>>;
  readonly measureDeadlineMs?: number;
  readonly onEvent?: EventListener;
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
  return { listener, registry, measure, render: openPage(registry) };
}

function showConcurrency(registry: Registry, concurrency: Readonly<Record<string, number>>): void {
  createGauge(WORKER_GAUGES.concurrency, registry, async (gauge) => {
    for (const [role, jobs] of Object.entries(concurrency)) gauge.set({ role }, jobs);
  });
}
