import { GAUGES } from '../../../src/telemetry/metric-catalogue.ts';
import { PROCESS } from './foreign-metrics.ts';
import { graph, type Panel } from './panel.ts';
import { each } from './promql.ts';

/** Of each worker by itself; on the overview, and on the dashboard that says why. */

export function redisPing(width: number): Panel {
  return graph({
    title: 'Redis ping',
    description:
      'Time that Redis took to answer each worker. Above some ms it is busy or far, and everything waits for it.',
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
      'How late timers fired in each worker at most, from scrape to scrape. One that is blocked for 8 s has lost all that it held.',
    unit: 's',
    width,
    thresholds: [{ from: 0.5, color: 'red' }],
    queries: [{ expr: each(PROCESS.eventLoopLag), legend: '{{job}} {{instance}}' }],
  });
}
