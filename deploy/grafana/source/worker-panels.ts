import { GAUGES } from '../../../src/telemetry/metric-catalogue.ts';
import { PROCESS } from './foreign-metrics.ts';
import { graph, type Panel } from './panel.ts';
import { each } from './promql.ts';

/** Panels by worker, for the overview and the dashboard with the cause. */

export function redisPing(width: number): Panel {
  return graph({
    title: 'Redis ping',
    description:
      'Time of a ping from each worker to Redis. Above some ms Redis is busy or distant, and delays everything.',
    unit: 's',
    width,
    thresholds: [{ from: 0.05, color: 'red' }],
    queries: [{ expr: each(GAUGES.redisPing), legend: '{{job}} {{instance}}' }],
  });
}

export function eventLoopLag(width: number): Panel {
  return graph({
    title: 'Event-loop lag',
    description:
      'Longest delay of timers in each worker between scrapes. A worker that is blocked for 8 s loses its leases.',
    unit: 's',
    width,
    thresholds: [{ from: 0.5, color: 'red' }],
    queries: [{ expr: each(PROCESS.eventLoopLag), legend: '{{job}} {{instance}}' }],
  });
}
