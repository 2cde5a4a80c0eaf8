import type { Gauge, Registry } from 'prom-client';
import { QUEUES } from '../jobs/queues.ts';
import type { GateState } from '../store/gates.ts';
import type { ShardMeasure } from '../store/measures.ts';
import { toSeconds } from './catalogue/metric-spec.ts';
import { createGauge } from './instruments.ts';
import { type LabelSet, type MetricSpec, SHARED_GAUGES, WORKER_GAUGES } from './metric-catalogue.ts';
import { type SharedMeasurement, shareMeasurement } from './shared-measurement.ts';

interface MeasureTerms {
  readonly deadlineMs: number;
  readonly onFailure: (measure: keyof Measures, error: unknown) => void;
}

/**
 * Creates gauges that are measured only when the metrics page is read. An unread page costs Redis nothing. A gauge
 * whose measurement fails is missing from the page.
 */
export function createMeasuredGauges(registry: Registry, measures: Measures, terms: MeasureTerms): void {
  createRedisGauges(registry, measures, terms);
  const isOurs = createLeaseGauge(registry, measures, terms);
  const readings = new Map<keyof SharedMeasures, SharedMeasurement<unknown>>();
  for (const [key, { measure: name, list }] of Object.entries(GAUGE_SOURCES)) {
    const measure: (() => Promise<unknown>) | undefined = measures[name];
    if (measure === undefined) continue;
    const read = readings.get(name) ?? readWith(terms, name, measure);
    readings.set(name, read);
    const spec: MetricSpec = SHARED_GAUGES[key as keyof typeof SHARED_GAUGES];
    createGauge(spec, registry, async (gauge) => {
      const value = (await isOurs()) === true ? await read() : undefined;
      // TypeScript cannot express that this list belongs to this measurement.
      setSeries(gauge, spec, value === undefined ? [] : (list as (value: unknown) => readonly Series[])(value));
    });
  }
}

function createLeaseGauge(registry: Registry, measures: Measures, terms: MeasureTerms): SharedMeasurement<boolean> {
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
    return toSeconds(performance.now() - startedAt);
  });
  createGauge(WORKER_GAUGES.redisUp, registry, async (gauge) => gauge.set((await read()) === undefined ? 0 : 1));
  createGauge(WORKER_GAUGES.redisPing, registry, async (gauge) => {
    const seconds = await read();
    setSeries(gauge, WORKER_GAUGES.redisPing, seconds === undefined ? [] : [[{}, seconds]]);
  });
}

function readWith<Value>(
  { deadlineMs, onFailure }: MeasureTerms,
  name: keyof Measures,
  measure: () => Promise<Value>,
): SharedMeasurement<Value> {
  return shareMeasurement({ measure, deadlineMs, onFailure: (error) => onFailure(name, error) });
}

/** A gauge without a value is removed, not set to 0: an alert on absence fires, but one on a wrong 0 never does. */
function setSeries(gauge: Gauge, { labels }: MetricSpec, series: readonly Series[]): void {
  if (labels.length > 0) gauge.reset();
  else gauge.remove();
  for (const [own, value] of series) gauge.set(own, value);
}

type Series = readonly [labels: LabelSet, value: number];

type MeasuredValue<Name extends keyof SharedMeasures> = NonNullable<
  Awaited<ReturnType<Required<SharedMeasures>[Name]>>
>;

interface GaugeSource {
  readonly measure: keyof SharedMeasures;
  readonly list: (value: never) => readonly Series[];
}

const GAUGE_SOURCES: { readonly [Key in keyof typeof SHARED_GAUGES]: GaugeSource } = {
  waitingTurns: from('countJobs', (counts) => one(countWaitingTurns(counts))),
  oldestWaitingTurn: from('measureWaits', (waits) => one(toSeconds(waits.get(QUEUES.turn) ?? 0))),
  oldestWaitingJob: from('measureWaits', (waits) =>
    [...waits].map(([queue, waitMs]) => [{ queue }, toSeconds(waitMs)]),
  ),
  missingAgents: from('listMissingAgents', (missing) =>
    one(toSeconds(Math.max(0, ...missing.map(({ forMs }) => forMs)))),
  ),
  gatePaused: from('listGates', (gates) => gates.map(({ gate, pausedMs }) => [{ gate }, toSeconds(pausedMs)])),
  gateWaiting: from('listGates', (gates) => gates.map(({ gate, waiting }) => [{ gate }, waiting])),
  openPasses: from('measureShards', ({ openPasses }) => one(openPasses)),
  oldestOpenPass: from('measureShards', ({ oldestOpenPassMs }) => one(toSeconds(oldestOpenPassMs))),
  failedTurns: from('measureShards', ({ failedTurns }) => one(failedTurns)),
  overdueEntries: from('measureShards', ({ overdue }) =>
    Object.entries(overdue).map(([kind, count]) => [{ kind }, count]),
  ),
  oldestOverdueEntry: from('measureShards', ({ oldestOverdueMs }) => one(toSeconds(oldestOverdueMs))),
  oldestOverdueErase: from('measureShards', ({ oldestIdleMs }) => one(toSeconds(oldestIdleMs))),
  quarantinedRecords: from('measureShards', ({ quarantined }) => one(quarantined)),
  modelCalibration: from('readCalibrations', (factors) => [...factors].map(([model, factor]) => [{ model }, factor])),
  redisMemory: from('measureServers', ({ usedRatio }) => (usedRatio === undefined ? [] : one(usedRatio))),
  redisMemoryBytes: from('measureServers', ({ usedBytes }) => one(usedBytes)),
  redisEvictedKeys: from('measureServers', ({ evictedKeys }) => one(evictedKeys)),
  jobs: from('countJobs', (counts) => counts.map(({ queue, state, count }) => [{ queue, state }, count])),
};

function from<Name extends keyof SharedMeasures>(
  measure: Name,
  list: (value: MeasuredValue<Name>) => Series[],
): GaugeSource {
  return { measure, list };
}

/**
 * A conversation with waiting turns has one wake job in the turn queue. Its later turns do not count: no other worker
 * could take them, and each accepted or settled turn would cost a write.
 */
export function countWaitingTurns(counts: readonly JobCount[]): number {
  return counts
    .filter(({ queue, state }) => queue === QUEUES.turn && state !== 'active' && state !== 'failed')
    .reduce((sum, { count }) => sum + count, 0);
}

function one(value: number): Series[] {
  return [[{}, value]];
}

/** Measurements of the gauges. Ages are in ms, 0 if nothing waits. If a function is absent, its gauges are missing. */
export interface Measures extends SharedMeasures {
  /** True if this worker should measure the shared state. Absent: always. */
  readonly isMeasuring?: () => Promise<boolean>;
  readonly ping?: () => Promise<void>;
}

interface SharedMeasures {
  readonly countJobs?: () => Promise<readonly JobCount[]>;
  /** Age of the oldest waiting job in each queue. */
  readonly measureWaits?: () => Promise<ReadonlyMap<string, number>>;
  readonly measureShards?: () => Promise<ShardMeasure>;
  /** Agents that have work and no running worker, and for how long. */
  readonly listMissingAgents?: () => Promise<readonly { readonly agent: string; readonly forMs: number }[]>;
  /** Gates that hold calls, or held calls within the last minute. */
  readonly listGates?: () => Promise<readonly GateState[]>;
  /** For each model, the provider's token count divided by turnfold's count. */
  readonly readCalibrations?: () => Promise<ReadonlyMap<string, number>>;
  /** Undefined if Redis denies the command INFO. */
  readonly measureServers?: () => Promise<ServerFigures | undefined>;
}

export interface JobCount {
  readonly queue: string;
  readonly state: string;
  readonly count: number;
}

interface ServerFigures {
  readonly usedBytes: number;
  /** Used share of `maxmemory`. Absent if `maxmemory` is not set. */
  readonly usedRatio?: number;
  readonly evictedKeys: number;
}
