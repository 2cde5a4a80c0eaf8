import { describe, expect, test, vi } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { ShardMeasure } from '../../src/store/measures.ts';
import type { JobCount, Measures } from '../../src/telemetry/measured-gauges.ts';
import { GAUGES } from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics, type Metrics, type MetricsOptions } from '../../src/telemetry/metrics.ts';
import { readSeries } from './exposition.ts';

const gaugeNames = new Set<string>(Object.values(GAUGES).map(({ name }) => name));

function measured(measures: Measures, options: MetricsOptions = {}): Metrics {
  const metrics = createMetrics(options);
  metrics.measure(measures);
  return metrics;
}

async function readGauges(metrics: Metrics): Promise<Record<string, number>> {
  const series = [...readSeries((await metrics.render()).body)];
  return Object.fromEntries(series.filter(([name]) => gaugeNames.has(name.replace(/\{.*/, ''))));
}

/** Failures of a measure so far. A page may be rendered before its own failure is counted, so a later page is read. */
async function countFailures(metrics: Metrics, measure: string): Promise<number | undefined> {
  return readSeries((await metrics.render()).body).get(`turnfold_measure_failures_total{measure="${measure}"}`);
}

const shards: ShardMeasure = {
  overdue: { turn: 3, pass: 0, scheduled: 0, idle: 7 },
  oldestOverdueMs: 1_500,
  openPasses: 2,
  oldestOpenPassMs: 4_000,
  failedTurns: 5,
  oldestIdleMs: 7_200_000,
  quarantined: 2,
};

describe('measured gauges', () => {
  test('each scrape shows the values measured for it, in base units', async () => {
    let openPasses = 2;
    const metrics = measured({
      countJobs: async () => [
        { queue: 'turn', state: 'prioritized', count: 4 },
        { queue: 'turn', state: 'delayed', count: 3 },
        { queue: 'turn', state: 'active', count: 9 },
        { queue: 'turn', state: 'failed', count: 9 },
        { queue: 'compaction', state: 'waiting-children', count: 2 },
      ],
      measureShards: async () => ({ ...shards, openPasses }),
      measureWaits: async () => new Map([['turn', 60_000]]),
      measureServers: async () => ({ usedBytes: 600, usedRatio: 0.6, evictedKeys: 1 }),
      readCalibrations: async () => new Map([['m', 1.25]]),
    });
    expect(await readGauges(metrics)).toEqual({
      'bullmq_job_count{queue="turn",state="prioritized"}': 4,
      'bullmq_job_count{queue="turn",state="delayed"}': 3,
      'bullmq_job_count{queue="turn",state="active"}': 9,
      'bullmq_job_count{queue="turn",state="failed"}': 9,
      'bullmq_job_count{queue="compaction",state="waiting-children"}': 2,
      'turnfold_overdue_entries{kind="turn"}': 3,
      'turnfold_overdue_entries{kind="pass"}': 0,
      'turnfold_overdue_entries{kind="scheduled"}': 0,
      'turnfold_overdue_entries{kind="idle"}': 7,
      turnfold_oldest_overdue_entry_age_seconds: 1.5,
      turnfold_oldest_overdue_erase_age_seconds: 7_200,
      turnfold_open_passes: 2,
      turnfold_oldest_open_pass_age_seconds: 4,
      turnfold_failed_turns: 5,
      turnfold_quarantined_records: 2,
      turnfold_waiting_turns: 7,
      turnfold_oldest_waiting_turn_age_seconds: 60,
      'turnfold_oldest_waiting_job_age_seconds{queue="turn"}': 60,
      turnfold_redis_memory_bytes: 600,
      turnfold_redis_memory_ratio: 0.6,
      turnfold_redis_evicted_keys: 1,
      'turnfold_model_calibration_ratio{model="m"}': 1.25,
    });
    openPasses = 3;
    expect((await readGauges(metrics))['turnfold_open_passes']).toBe(3);
  });

  test('a gauge without a function to measure it is absent from the metrics page', async () => {
    expect(await readGauges(createMetrics())).toEqual({});
  });

  test('a worker removes at each scrape the series of a job state that the queue no longer reports', async () => {
    const answers = [[{ queue: 'turn', state: 'active', count: 1 }], [{ queue: 'turn', state: 'delayed', count: 2 }]];
    const metrics = measured({ countJobs: async () => answers.shift() ?? [] });
    await readGauges(metrics);
    expect(await readGauges(metrics)).toEqual({
      'bullmq_job_count{queue="turn",state="delayed"}': 2,
      turnfold_waiting_turns: 2,
    });
  });

  test('the failure counter of the worker counts a failed measurement of a gauge', async () => {
    const metrics = measured({ countJobs: () => Promise.reject(new Error('away')) });
    await readGauges(metrics);
    const { body } = await metrics.render();
    expect(body).toMatch(/^turnfold_worker_failures_total\{where="measure countJobs"\} [1-9]/m);
  });

  test('two gauges with the same source share one measurement', async () => {
    let calls = 0;
    const metrics = measured({ countJobs: async () => [{ queue: 'turn', state: 'prioritized', count: ++calls }] });
    const shown = await readGauges(metrics);
    expect(shown).toEqual({ turnfold_waiting_turns: 1, 'bullmq_job_count{queue="turn",state="prioritized"}': 1 });
    expect(calls).toBe(1);
  });
});

describe('gauges of shared state', () => {
  const measures = { countJobs: async () => [{ queue: 'turn', state: 'active', count: 1 }] };

  test('only the worker that owns the measuring lease shows the gauges of shared state', async () => {
    let isOurs = true;
    const metrics = measured({ ...measures, isMeasuring: async () => isOurs });
    const job = 'bullmq_job_count{queue="turn",state="active"}';
    expect(await readGauges(metrics)).toEqual({
      [job]: 1,
      turnfold_waiting_turns: 0,
      turnfold_worker_measures_shared_state: 1,
    });
    isOurs = false;
    expect(await readGauges(metrics)).toEqual({ turnfold_worker_measures_shared_state: 0 });
    isOurs = true;
    expect(await readGauges(metrics)).toMatchObject({ [job]: 1 });
  });

  test('a worker checks the measuring lease once per scrape, for all gauges', async () => {
    const isMeasuring = vi.fn<() => Promise<boolean>>(async () => true);
    const countJobs = vi.fn<() => Promise<[]>>(async () => []);
    const measureShards = async (): Promise<ShardMeasure> => shards;
    await readGauges(measured({ isMeasuring, countJobs, measureShards }));
    expect(isMeasuring).toHaveBeenCalledTimes(1);
    expect(countJobs).toHaveBeenCalledTimes(1);
  });

  test('a worker that cannot read the measuring lease hides the gauges of shared state', async () => {
    const isMeasuring = (): Promise<boolean> => Promise.reject(new Error('Redis is away'));
    expect(await readGauges(measured({ ...measures, isMeasuring }))).toEqual({
      turnfold_worker_measures_shared_state: 0,
    });
  });
});

describe('gauges of a worker', () => {
  test('a worker shows whether Redis answers its ping, and how fast', async () => {
    let ping = (): Promise<void> => Promise.resolve();
    const metrics = measured({ ping: () => ping() });
    const shown = await readGauges(metrics);
    expect(shown).toMatchObject({ turnfold_redis_up: 1 });
    expect(shown['turnfold_redis_ping_seconds']).toBeLessThan(1);
    ping = () => Promise.reject(new Error('Redis is away'));
    expect(await readGauges(metrics)).toEqual({ turnfold_redis_up: 0 });
  });

  test('a worker shows its concurrency by role', async () => {
    expect(await readGauges(createMetrics({ concurrency: { turn: 50, compaction: 0 } }))).toEqual({
      'turnfold_worker_concurrency{role="turn"}': 50,
      'turnfold_worker_concurrency{role="compaction"}': 0,
    });
  });
});

describe('a failed measurement', () => {
  const away = new Error('Redis is away');

  test('when a measurement fails, the metrics page lacks only its gauges until the measurement succeeds again', async () => {
    let isAway = false;
    const metrics = measured({
      countJobs: async () => {
        if (isAway) throw away;
        return [{ queue: 'turn', state: 'active', count: 1 }];
      },
      measureShards: () => {
        if (isAway) throw away; // before there is a promise
        return Promise.resolve(shards);
      },
      measureWaits: async () => new Map([['compaction', 5_000]]),
    });
    const whole = await readGauges(metrics);
    isAway = true;
    expect(await readGauges(metrics)).toEqual({
      turnfold_oldest_waiting_turn_age_seconds: 0,
      'turnfold_oldest_waiting_job_age_seconds{queue="compaction"}': 5,
    });
    isAway = false;
    expect(await readGauges(metrics)).toEqual(whole);
    expect(await countFailures(metrics, 'countJobs')).toBe(1);
    expect(await countFailures(metrics, 'measureShards')).toBe(1);
    expect(await countFailures(metrics, 'measureWaits')).toBeUndefined();
  });

  test('a failed measurement is reported to a listener, and a listener that throws does not break the page', async () => {
    const onEvent = vi.fn<(event: WorkerEvent) => void>(() => {
      throw new Error('the listener is broken too');
    });
    const metrics = measured({ countJobs: () => Promise.reject(away) }, { onEvent });
    expect(await readGauges(metrics)).toEqual({});
    expect(onEvent.mock.calls).toEqual([[{ type: 'worker_failed', where: 'measure countJobs', error: away }]]);
  });

  test('a measurement that hangs neither delays the page nor starts a second time', async () => {
    const gate = Promise.withResolvers<JobCount[]>();
    const countJobs = vi.fn<() => Promise<JobCount[]>>(() => gate.promise);
    const metrics = measured({ countJobs }, { measureDeadlineMs: 1 });
    expect(await readGauges(metrics)).toEqual({});
    expect(await readGauges(metrics)).toEqual({});
    expect(countJobs).toHaveBeenCalledTimes(1);
    expect(await countFailures(metrics, 'countJobs')).toBe(1);

    gate.resolve([{ queue: 'turn', state: 'waiting', count: 1 }]);
    await vi.waitFor(async () => {
      expect(await readGauges(metrics)).toMatchObject({ turnfold_waiting_turns: 1 });
    });
    expect(countJobs).toHaveBeenCalledTimes(2);
  });
});
