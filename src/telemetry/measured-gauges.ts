import type { Gauge, Registry } from 'prom-client';
import { createGauge } from './instruments.ts';
import { GAUGES } from './metric-catalogue.ts';
import { createReading, type Reading } from './reading.ts';

/** What the shared state looks like now. Ages in ms, 0 where there is nothing. What has no measure has no gauge. */
export interface Measures {
  /** jobs by queue and state */
  readonly countJobs?: () => Promise<readonly JobCount[]>;
  /** entries of the ready sets past their time */
  readonly measureOverdue?: () => Promise<{ readonly count: number; readonly oldestMs: number }>;
  /** model → how far counts are off for it */
  readonly readCalibrations?: () => Promise<ReadonlyMap<string, number>>;
  /** undefined where Redis has no limit */
  readonly readMemory?: () => Promise<{ readonly usedBytes: number; readonly limitBytes: number } | undefined>;
  /** conversations whose next turn waits for a worker: one wake each, however many turns are behind it */
  readonly measureWaiting?: () => Promise<{ readonly turns: number; readonly oldestMs: number }>;
}

export interface JobCount {
  readonly queue: string;
  readonly state: string;
  readonly count: number;
}

export interface MeasureTerms {
  readonly deadlineMs: number;
  /** must not throw */
  readonly onFailure: (measure: keyof Measures, error: unknown) => void;
}

/** Measured when somebody reads the page: an unread gauge costs Redis nothing. A measure that failed leaves its gauges out. */
export function createMeasuredGauges(registry: Registry, measures: Measures, terms: MeasureTerms): void {
  if (measures.countJobs !== undefined) {
    const read = readWith(terms, 'countJobs', measures.countJobs);
    createGauge(GAUGES.jobs, registry, async (gauge) => {
      const counts = await read();
      gauge.reset(); // a queue or state that is not in the answer is not shown with its last count
      for (const { queue, state, count } of counts ?? []) gauge.set({ queue, state }, count);
    });
  }
  if (measures.readCalibrations !== undefined) {
    const read = readWith(terms, 'readCalibrations', measures.readCalibrations);
    createGauge(GAUGES.modelCalibration, registry, async (gauge) => {
      for (const [model, factor] of (await read()) ?? []) gauge.set({ model }, factor);
    });
  }
  if (measures.measureOverdue !== undefined) {
    const read = readWith(terms, 'measureOverdue', measures.measureOverdue);
    createGauge(GAUGES.overdueEntries, registry, async (gauge) => show(gauge, (await read())?.count));
    createGauge(GAUGES.oldestOverdueEntry, registry, async (gauge) => showAge(gauge, (await read())?.oldestMs));
  }
  if (measures.readMemory !== undefined) {
    const read = readWith(terms, 'readMemory', measures.readMemory);
    createGauge(GAUGES.redisMemory, registry, async (gauge) => {
      const use = await read();
      show(gauge, use && use.usedBytes / use.limitBytes);
    });
  }
  if (measures.measureWaiting !== undefined) {
    const read = readWith(terms, 'measureWaiting', measures.measureWaiting);
    createGauge(GAUGES.waitingTurns, registry, async (gauge) => show(gauge, (await read())?.turns));
    createGauge(GAUGES.oldestWaitingTurn, registry, async (gauge) => showAge(gauge, (await read())?.oldestMs));
  }
}

function readWith<Value>(
  { deadlineMs, onFailure }: MeasureTerms,
  name: keyof Measures,
  measure: () => Promise<Value>,
): Reading<Value> {
  return createReading({ measure, deadlineMs, onFailure: (error) => onFailure(name, error) });
}

/** Absent rather than 0 or its last value: an alert on absence fires, an alert on a wrong 0 never does. */
function show(gauge: Gauge<never>, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}

function showAge(gauge: Gauge<never>, ageMs: number | undefined): void {
  show(gauge, ageMs === undefined ? undefined : ageMs / 1_000);
}
