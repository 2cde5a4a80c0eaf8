import { describe, expect, test, vi } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { GAUGES } from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { listSeries, parseExposition } from './exposition.ts';

const gaugeNames = new Set<string>(Object.values(GAUGES).map(({ name }) => name));

async function readGauges(metrics: Metrics): Promise<Record<string, number>> {
  const families = parseExposition((await metrics.render()).body);
  return Object.fromEntries(listSeries(families.filter(({ name }) => gaugeNames.has(name))));
}

/** How often a measure failed, so far. The page on which a gauge is missing may be rendered before that is counted. */
async function countFailures(metrics: Metrics, measure: string): Promise<number | undefined> {
  const series = listSeries(parseExposition((await metrics.render()).body));
  return series.get(`turnfold_measure_failures_total{measure="${measure}"}`);
}

describe('measured gauges', () => {
  test('show what is measured, in base units, at every reading', async () => {
    let turns = 7;
    const metrics = createMetrics({
      measures: {
        countJobs: async () => [
          { queue: 'turn', state: 'prioritized', count: 4 },
          { queue: 'compaction', state: 'waiting-children', count: 2 },
        ],
        measureOverdue: async () => ({ count: 3, oldestMs: 1_500 }),
        measureWaiting: async () => ({ turns, oldestMs: 60_000 }),
      },
    });
    expect(await readGauges(metrics)).toEqual({
      'bullmq_job_count{queue="turn",state="prioritized"}': 4,
      'bullmq_job_count{queue="compaction",state="waiting-children"}': 2,
      turnfold_overdue_entries: 3,
      turnfold_oldest_overdue_entry_age_seconds: 1.5,
      turnfold_waiting_turns: 7,
      turnfold_oldest_waiting_turn_age_seconds: 60,
    });
    turns = 8;
    expect((await readGauges(metrics))['turnfold_waiting_turns']).toBe(8);
  });

  test('are absent without a measure', async () => {
    expect(await readGauges(createMetrics())).toEqual({});
  });

  test('a state that is no longer counted is no longer shown', async () => {
    const answers = [[{ queue: 'turn', state: 'active', count: 1 }], [{ queue: 'turn', state: 'delayed', count: 2 }]];
    const metrics = createMetrics({ measures: { countJobs: async () => answers.shift() ?? [] } });
    await readGauges(metrics);
    expect(await readGauges(metrics)).toEqual({ 'bullmq_job_count{queue="turn",state="delayed"}': 2 });
  });

  test('both gauges of a measure show one and the same measure', async () => {
    let calls = 0;
    const metrics = createMetrics({
      measures: { measureWaiting: async () => ({ turns: ++calls, oldestMs: calls * 1_000 }) },
    });
    const shown = await readGauges(metrics);
    expect(shown).toEqual({ turnfold_waiting_turns: 1, turnfold_oldest_waiting_turn_age_seconds: 1 });
    expect(calls).toBe(1);
  });
});

describe('a measure that fails', () => {
  const away = new Error('Redis is away');

  test('leaves its gauges out, and only them, until it works again', async () => {
    let isAway = false;
    const metrics = createMetrics({
      measures: {
        countJobs: async () => {
          if (isAway) throw away;
          return [{ queue: 'turn', state: 'active', count: 1 }];
        },
        measureOverdue: () => {
          if (isAway) throw away; // before there is a promise
          return Promise.resolve({ count: 0, oldestMs: 0 });
        },
        measureWaiting: async () => ({ turns: 5, oldestMs: 0 }),
      },
    });
    const whole = await readGauges(metrics);
    isAway = true;
    expect(await readGauges(metrics)).toEqual({
      turnfold_waiting_turns: 5,
      turnfold_oldest_waiting_turn_age_seconds: 0,
    });
    isAway = false;
    expect(await readGauges(metrics)).toEqual(whole);
    expect(await countFailures(metrics, 'countJobs')).toBe(1);
    expect(await countFailures(metrics, 'measureOverdue')).toBe(1);
    expect(await countFailures(metrics, 'measureWaiting')).toBeUndefined();
  });

  test('is told to the listener, whose own failure does not break the page', async () => {
    const onEvent = vi.fn<(event: WorkerEvent) => void>(() => {
      throw new Error('the listener is broken too');
    });
    const metrics = createMetrics({ measures: { countJobs: () => Promise.reject(away) }, onEvent });
    expect(await readGauges(metrics)).toEqual({});
    expect(onEvent.mock.calls).toEqual([[{ type: 'worker_failed', where: 'measure countJobs', error: away }]]);
  });

  test('by hanging does not hang the page, and is not begun again before it ends', async () => {
    const gate = Promise.withResolvers<{ turns: number; oldestMs: number }>();
    const measureWaiting = vi.fn<() => Promise<{ turns: number; oldestMs: number }>>(() => gate.promise);
    const metrics = createMetrics({ measures: { measureWaiting }, measureDeadlineMs: 1 });
    expect(await readGauges(metrics)).toEqual({});
    expect(await readGauges(metrics)).toEqual({});
    expect(measureWaiting).toHaveBeenCalledTimes(1);
    expect(await countFailures(metrics, 'measureWaiting')).toBe(1);

    gate.resolve({ turns: 1, oldestMs: 0 });
    await vi.waitFor(async () => {
      expect(await readGauges(metrics)).toMatchObject({ turnfold_waiting_turns: 1 });
    });
    expect(measureWaiting).toHaveBeenCalledTimes(2);
  });
});
