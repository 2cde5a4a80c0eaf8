import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, type Panel } from './panel.ts';
import { quantile, rate, shared, total } from './promql.ts';
import {
  alertsFiring,
  FIRING,
  failedRequests,
  failedTurns,
  oldestOpenPass,
  oldestOverdueEntry,
  oldestWaitingTurn,
  redisMemory,
  workersByRole,
} from './verdicts.ts';
import { eventLoopLag, redisPing } from './worker-panels.ts';

const VERDICT: readonly Panel[] = [
  alertsFiring(3),
  workersByRole(4),
  oldestWaitingTurn(3),
  failedTurns(3),
  oldestOpenPass(3),
  failedRequests(3),
  redisMemory(3),
  oldestOverdueEntry(2),
];

const TURNS: readonly Panel[] = [
  graph({
    title: 'Turns settled',
    description: 'Turns by outcome. A drop while turns wait means slow workers or providers.',
    unit: 'turns/s',
    width: 8,
    isStacked: true,
    colors: { completed: 'green', failed: 'red' },
    queries: [{ expr: rate(METRICS.turns, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Duration of turns',
    description:
      'Time from accepting a turn, or from its due time, to the answer. Includes waits for tools and approvals.',
    unit: 's',
    width: 8,
    queries: [
      { expr: quantile(0.5, METRICS.turnDuration), legend: 'p50' },
      { expr: quantile(0.95, METRICS.turnDuration), legend: 'p95' },
      { expr: quantile(0.99, METRICS.turnDuration), legend: 'p99' },
    ],
  }),
  graph({
    title: 'Waiting turns',
    description: 'Conversations whose next turn waits for a worker. A queue that does not shrink needs turn workers.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.waitingTurns), legend: 'waiting' }],
  }),
];

const WORK: readonly Panel[] = [
  graph({
    title: 'Passes ended',
    description: 'Passes by outcome. For failed and infeasible passes see the dashboard Compaction.',
    unit: 'passes/s',
    width: 8,
    isStacked: true,
    colors: { committed: 'green', failed: 'red', infeasible: 'orange' },
    queries: [{ expr: rate(METRICS.passes, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Requests to models',
    description: 'Requests by outcome. retry: a limit or an overload. overflow: too long for the provider.',
    unit: 'requests/s',
    width: 8,
    isStacked: true,
    colors: { answered: 'green', fatal: 'red', retry: 'orange' },
    queries: [{ expr: rate(METRICS.modelRequests, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Cost',
    description:
      'Dollars an hour by the prices of the profiles, for turns and summaries. Models without prices are left out.',
    unit: 'currencyUSD',
    width: 8,
    isStacked: true,
    queries: [{ expr: `${rate(METRICS.modelCost, { by: ['purpose'] })} * 3600`, legend: '{{purpose}} an hour' }],
  }),
];

const ALERTS: readonly Panel[] = [
  graph({
    title: 'Alerts',
    description: 'Firing alerts and their start. Each name is an entry of docs/runbook.md.',
    unit: 'short',
    width: 24,
    isStacked: true,
    queries: [{ expr: `count by (alertname) (${FIRING})`, legend: '{{alertname}}' }],
  }),
];

const WORKERS: readonly Panel[] = [
  graph({
    title: 'Concurrency',
    description: 'Jobs that the workers take at a time, by role. A step down means lost workers.',
    unit: 'short',
    width: 6,
    queries: [{ expr: total(GAUGES.concurrency, { by: ['role'] }), legend: '{{role}}' }],
  }),
  graph({
    title: 'Leases lost and turns reclaimed',
    description:
      'Workers that froze, died, lost Redis or stopped too soon. Some are normal at a deployment. A steady rate means blocked event loops or Redis.',
    unit: 'events/s',
    width: 6,
    queries: [
      {
        expr: rate(METRICS.leasesLost, { by: ['what'], where: { why: '=~"fenced|expired"' } }),
        legend: 'lost {{what}}',
      },
      { expr: rate(METRICS.turnReclaims), legend: 'reclaimed turn' },
      { expr: rate(METRICS.jobReclaims, { by: ['role'] }), legend: '{{role}} job without its worker' },
    ],
  }),
  redisPing(6),
  eventLoopLag(6),
];

export const OVERVIEW: Dashboard = {
  name: 'overview',
  title: 'Overview',
  description: 'The state of turnfold, and where to look for the cause of a problem.',
  rows: [
    { title: 'Is it well?', panels: VERDICT },
    { title: 'Turns', panels: TURNS },
    { title: 'Compaction and models', panels: WORK },
    { title: 'Workers and Redis', panels: WORKERS },
    { title: 'What fires', panels: ALERTS },
  ],
};
