import { collectDefaultMetrics, Registry } from 'prom-client';
import type { EventListener } from '../domain/events.ts';
import { recordEvents } from './event-metrics.ts';
import { createGauge, createInstruments } from './instruments.ts';
import { combineListeners } from './listeners.ts';
import type { Measures } from './measured-gauges.ts';
import { createMeasuredGauges } from './measured-gauges.ts';
import { WORKER_GAUGES } from './metric-catalogue.ts';

/** Well below the 10 s that Prometheus waits for a page. */
const MEASURE_DEADLINE_MS = 2_000;

export interface MetricsOptions {
  /** as by `measure`, where they are known already */
  readonly measures?: Measures;
  /** role → jobs that this worker takes at a time */
  readonly concurrency?: Readonly<Record<string, number>>;
  /** a measure that takes longer counts as failed */
  readonly measureDeadlineMs?: number;
  /** told why a measure failed; the page only says that it did */
  readonly onEvent?: EventListener;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

export interface Metrics {
  readonly listener: EventListener;
  /** its own: two of them in one process do not meet */
  readonly registry: Registry;
  /** what the gauges of shared state show, from now on; told once. Events come before there is anything to measure */
  measure(measures: Measures): void;
  /** the page in Prometheus' text format; a measure that fails leaves its gauges out, nothing else */
  render(): Promise<MetricsPage>;
}

/** The metrics of one worker process, those of Node (event-loop lag, heap, garbage collection) included. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { measures, measureDeadlineMs = MEASURE_DEADLINE_MS, concurrency } = options;
  const registry = new Registry();
  const instruments = createInstruments(registry);
  const listener = recordEvents(instruments);
  const tell = combineListeners(listener, ...(options.onEvent === undefined ? [] : [options.onEvent]));
  const measure = (given: Measures): void =>
    createMeasuredGauges(registry, given, {
      deadlineMs: measureDeadlineMs,
      onFailure: (name, error) => {
        instruments.measureFailures.inc({ measure: name });
        tell({ type: 'worker_failed', where: `measure ${name}`, error });
      },
    });
  if (measures !== undefined) measure(measures);
  if (concurrency !== undefined) showConcurrency(registry, concurrency);
  collectDefaultMetrics({ register: registry, prefix: 'turnfold_' });
  const render = shareRendering(async () => ({ contentType: registry.contentType, body: await registry.metrics() }));
  return { listener, registry, measure, render };
}

/** Scrapes that come while a page is rendered get that page: 500 at once would otherwise render 500 pages, for a second. */
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
