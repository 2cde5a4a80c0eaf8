import type { Gauge, Registry } from 'prom-client';
import { createGauge } from './instruments.ts';
import type { Measures, SharedMeasures } from './measures.ts';
import { type MetricSpec, SHARED_GAUGES, WORKER_GAUGES } from './metric-catalogue.ts';
import { createReading, type Reading } from './reading.ts';
import { type Series, SHOWN } from './shown-measures.ts';

export interface MeasureTerms {
  readonly deadlineMs: number;
  /** must not throw */
  readonly onFailure: (measure: keyof Measures, error: unknown) => void;
}

/** Measured when somebody reads the page: an unread gauge costs Redis nothing. A measure that failed leaves its gauges out. */
export function createMeasuredGauges(registry: Registry, measures: Measures, terms: MeasureTerms): void {
  createRedisGauges(registry, measures, terms);
  const isOurs = createLeaseGauge(registry, measures, terms);
  const readings = new Map<keyof SharedMeasures, Reading<unknown>>();
  for (const [key, { measure: name, list }] of Object.entries(SHOWN)) {
    const measure: (() => Promise<unknown>) | undefined = measures[name];
    if (measure === undefined) continue;
    const read = readings.get(name) ?? readWith(terms, name, measure);
    readings.set(name, read);
    const spec: MetricSpec = SHARED_GAUGES[key as keyof typeof SHARED_GAUGES];
    createGauge(spec, registry, async (gauge) => {
      const value = (await isOurs()) === true ? await read() : undefined;
      // The table pairs each list with the value of its own measure, which an index by the union cannot express.
      show(gauge, spec, value === undefined ? [] : (list as (value: unknown) => readonly Series[])(value));
    });
  }
}

function createLeaseGauge(registry: Registry, measures: Measures, terms: MeasureTerms): Reading<boolean> {
  const { isMeasuring } = measures;
  if (isMeasuring === undefined) return async () => true;
  const read = readWith(terms, 'isMeasuring', isMeasuring);
  createGauge(WORKER_GAUGES.isMeasuring, registry, async (gauge) => gauge.set((await read()) === true ? 1 : 0));
  return read;
}

function createRedisGauges(registry: Registry, { ping }: Measures, terms: MeasureTerms): void {
  if (ping === undefined) return;
  const read = readWith(terms, 'ping', async () => {
    const startedAt = performance.now();
    await ping();
    return (performance.now() - startedAt) / 1_000;
  });
  createGauge(WORKER_GAUGES.redisUp, registry, async (gauge) => gauge.set((await read()) === undefined ? 0 : 1));
  createGauge(WORKER_GAUGES.redisPing, registry, async (gauge) => {
    const seconds = await read();
    show(gauge, WORKER_GAUGES.redisPing, seconds === undefined ? [] : [[{}, seconds]]);
  });
}

function readWith<Value>(
  { deadlineMs, onFailure }: MeasureTerms,
  name: keyof Measures,
  measure: () => Promise<Value>,
): Reading<Value> {
  return createReading({ measure, deadlineMs, onFailure: (error) => onFailure(name, error) });
}

/** Absent rather than 0 or its last value: an alert on absence fires, an alert on a wrong 0 never does. */
function show(gauge: Gauge, { labels }: MetricSpec, series: readonly Series[]): void {
  if (labels.length > 0) gauge.reset();
  else gauge.remove();
  for (const [own, value] of series) gauge.set(own, value);
}
