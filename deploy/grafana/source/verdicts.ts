import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import { PROMETHEUS } from './foreign-metrics.ts';
import { type Panel, stat } from './panel.ts';
import { each, rate, share, sharedLately } from './promql.ts';

/** They open the overview and the dashboard with the cause. Red begins at the threshold of an alert. */

/** Outcomes of requests that are the provider's doing. */
export const FAILED = '=~"retry|timeout|invalid|fatal"';

export const FIRING = `${PROMETHEUS.alerts.name}{alertname=~"Turnfold.+", alertstate="firing"}`;

export function alertsFiring(width: number): Panel {
  return stat({
    title: 'Alerts firing',
    description: 'Firing alerts of turnfold. docs/runbook.md has an entry for each with its meaning and remedy.',
    unit: 'short',
    width,
    thresholds: [{ from: 1, color: 'red' }],
    queries: [{ expr: `count (${FIRING}) or vector(0)`, legend: 'firing' }],
  });
}

export function workersByRole(width: number): Panel {
  return stat({
    title: 'Workers by role',
    description: 'Worker processes that answer Prometheus. At 0, turns or passes wait forever.',
    unit: 'short',
    width,
    thresholds: [{ from: 1, color: 'green' }],
    queries: [{ expr: `sum by (role) (${each(GAUGES.concurrency)} > bool 0)`, legend: '{{role}}' }],
  });
}

export function oldestWaitingTurn(width: number): Panel {
  return stat({
    title: 'Oldest waiting turn',
    description:
      'Age of the oldest turn that waits for a worker. Growth means too few turn workers, or hanging ones. Next: Turns and latency, then Queues.',
    unit: 's',
    width,
    decimals: 1,
    thresholds: [
      { from: 10, color: 'orange' },
      { from: 30, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.oldestWaitingTurn), legend: 'age' }],
  });
}

export function failedTurns(width: number): Panel {
  return stat({
    title: 'Failed turns',
    description: 'Share of the turns of the last 5 minutes that failed. Next: Turns and latency, failures by code.',
    unit: 'percentunit',
    width,
    decimals: 1,
    thresholds: [
      { from: 0.02, color: 'orange' },
      { from: 0.05, color: 'red' },
    ],
    queries: [
      {
        expr: share(
          rate(METRICS.turns, { where: { outcome: '="failed"' }, window: '5m' }),
          rate(METRICS.turns, { window: '5m' }),
        ),
        legend: 'failed',
      },
    ],
  });
}

export function oldestOpenPass(width: number): Panel {
  return stat({
    title: 'Oldest open pass',
    description: 'Age of the oldest open pass. Growth means that compaction does not keep up. Next: Compaction.',
    unit: 's',
    width,
    decimals: 1,
    thresholds: [
      { from: 60, color: 'orange' },
      { from: 120, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.oldestOpenPass), legend: 'age' }],
  });
}

export function failedRequests(width: number): Panel {
  return stat({
    title: 'Failed requests',
    description:
      'Share of failed model requests in the last 5 minutes, without overflow, which a pass handles. Next: Providers and cost.',
    unit: 'percentunit',
    width,
    decimals: 1,
    thresholds: [
      { from: 0.02, color: 'orange' },
      { from: 0.1, color: 'red' },
    ],
    queries: [
      {
        expr: share(
          rate(METRICS.modelRequests, { where: { outcome: FAILED }, window: '5m' }),
          rate(METRICS.modelRequests, { window: '5m' }),
        ),
        legend: 'failed',
      },
    ],
  });
}

export function redisMemory(width: number): Panel {
  return stat({
    title: 'Redis memory',
    description:
      'Share of maxmemory. When Redis is full, writes are refused and turns stop. No value: no maxmemory, or no worker measures.',
    unit: 'percentunit',
    width,
    decimals: 0,
    max: 1,
    thresholds: [
      { from: 0.7, color: 'orange' },
      { from: 0.8, color: 'red' },
    ],
    without: 'no limit known',
    queries: [{ expr: sharedLately(GAUGES.redisMemory), legend: 'used' }],
  });
}

export function oldestOverdueEntry(width: number): Panel {
  return stat({
    title: 'Overdue',
    description: 'Age of the oldest overdue entry. Sweepers run each second, so minutes mean that none works.',
    unit: 's',
    width,
    decimals: 0,
    thresholds: [
      { from: 15, color: 'orange' },
      { from: 60, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.oldestOverdueEntry), legend: 'age' }],
  });
}
