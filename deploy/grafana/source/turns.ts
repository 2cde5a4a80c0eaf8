import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, heatmap, type Panel, stat } from './panel.ts';
import { buckets, quantile, rate, shared, sharedLately, waitOrZero } from './promql.ts';
import { failedTurns, oldestWaitingTurn } from './verdicts.ts';

const VERDICT: readonly Panel[] = [
  oldestWaitingTurn(4),
  stat({
    title: 'Waiting turns',
    description: 'Conversations whose next turn waits for a worker. Add turn workers, or raise their concurrency.',
    unit: 'short',
    width: 4,
    decimals: 0,
    thresholds: [
      { from: 100, color: 'orange' },
      { from: 1_000, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.waitingTurns), legend: 'waiting' }],
  }),
  stat({
    title: 'Wait before a worker',
    description:
      'Time from accepting a turn, or from its due time, to the first claim, 95th percentile of the last 5 minutes. Includes waits of earlier turns in the conversation.',
    unit: 's',
    width: 4,
    decimals: 2,
    thresholds: [
      { from: 1, color: 'orange' },
      { from: 10, color: 'red' },
    ],
    queries: [{ expr: waitOrZero(quantile(0.95, METRICS.turnWait, { window: '5m' })), legend: 'p95' }],
  }),
  stat({
    title: 'Duration',
    description:
      'Time from accepting a turn, or from its due time, to the answer, 95th percentile of the last 5 minutes. Includes waits for people.',
    unit: 's',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 60, color: 'orange' },
      { from: 600, color: 'red' },
    ],
    without: 'no turns',
    queries: [
      {
        expr: quantile(0.95, METRICS.turnDuration, { where: { outcome: '="completed"' }, window: '5m' }),
        legend: 'p95',
      },
    ],
  }),
  failedTurns(4),
  stat({
    title: 'Failed turns kept',
    description:
      'Failed turns of the last 7 days. `turnfold failed` lists them. `turnfold redrive` runs them again once the cause is gone.',
    unit: 'short',
    width: 4,
    decimals: 0,
    thresholds: [
      { from: 1, color: 'orange' },
      { from: 100, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.failedTurns), legend: 'kept' }],
  }),
];

const LATENCY: readonly Panel[] = [
  graph({
    title: 'Duration of completed turns',
    description:
      'Time from accepting a turn, or from its due time, to the answer. Includes waits. The panels below show its parts.',
    unit: 's',
    width: 8,
    queries: [
      { expr: quantile(0.5, METRICS.turnDuration, { where: { outcome: '="completed"' } }), legend: 'p50' },
      { expr: quantile(0.95, METRICS.turnDuration, { where: { outcome: '="completed"' } }), legend: 'p95' },
      { expr: quantile(0.99, METRICS.turnDuration, { where: { outcome: '="completed"' } }), legend: 'p99' },
    ],
  }),
  graph({
    title: 'Wait before a worker',
    description:
      'Time from accepting a turn, or from its due time, to the first claim. If the oldest waiting job (dashboard Queues) rises too, add turn workers. Otherwise turns wait behind others of their conversation.',
    unit: 's',
    width: 8,
    queries: [
      { expr: quantile(0.5, METRICS.turnWait), legend: 'p50' },
      { expr: quantile(0.95, METRICS.turnWait), legend: 'p95' },
      { expr: quantile(0.99, METRICS.turnWait), legend: 'p99' },
    ],
  }),
  heatmap({
    title: 'Durations, all of them',
    description: 'Distribution of durations. Two bands are two kinds of turns, whose quantiles mean little.',
    unit: 's',
    width: 8,
    queries: [{ expr: buckets(METRICS.turnDuration), legend: '{{le}}' }],
  }),
];

const PARTS: readonly Panel[] = [
  graph({
    title: 'Model calls of turns',
    description: '95th percentile by model, failed ones included. Next: Providers and cost.',
    unit: 's',
    width: 6,
    queries: [
      {
        expr: quantile(0.95, METRICS.modelRequestDuration, { by: ['model'], where: { purpose: '="turn"' } }),
        legend: '{{model}}',
      },
    ],
  }),
  graph({
    title: 'First text',
    description: 'Time from a request to the first text of the answer, 95th percentile by model.',
    unit: 's',
    width: 6,
    queries: [{ expr: quantile(0.95, METRICS.modelFirstText, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Tool calls',
    description: 'Duration of your tools that run in the workers.',
    unit: 's',
    width: 6,
    queries: [
      { expr: quantile(0.5, METRICS.toolCallDuration), legend: 'p50' },
      { expr: quantile(0.95, METRICS.toolCallDuration), legend: 'p95' },
      { expr: quantile(0.99, METRICS.toolCallDuration), legend: 'p99' },
    ],
  }),
  graph({
    title: 'Time suspended',
    description:
      '95th percentile by kind of wait. compaction: delay by hard passes. retry: limits and overloads of providers.',
    unit: 's',
    width: 6,
    queries: [{ expr: quantile(0.95, METRICS.turnSuspended, { by: ['waits_for'] }), legend: '{{waits_for}}' }],
  }),
];

const OUTCOMES: readonly Panel[] = [
  graph({
    title: 'Turns settled',
    description: 'Turns by outcome. Canceled turns are not counted, because no worker settles them.',
    unit: 'turns/s',
    width: 6,
    isStacked: true,
    colors: { completed: 'green', failed: 'red' },
    queries: [{ expr: rate(METRICS.turns, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Failures by code',
    description:
      'poison: every attempt died. budget_infeasible, context_overflow: nothing left to compact. model_failed: the provider.',
    unit: 'turns/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.turns, { by: ['code'], where: { outcome: '="failed"' } }), legend: '{{code}}' }],
  }),
  graph({
    title: 'Suspensions',
    description: 'Suspensions by kind of wait. A suspended turn occupies no worker.',
    unit: 'events/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.turnSuspensions, { by: ['waits_for'] }), legend: '{{waits_for}}' }],
  }),
  graph({
    title: 'Tool calls by outcome',
    description: 'All outcomes but done are error results for the model. outcome_unknown: a worker died during a call.',
    unit: 'events/s',
    width: 6,
    isStacked: true,
    colors: { done: 'green', failed: 'red' },
    queries: [{ expr: rate(METRICS.toolCalls, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
];

const OWNERSHIP: readonly Panel[] = [
  graph({
    title: 'Waiting turns',
    description: 'Conversations whose next turn waits for a worker.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.waitingTurns), legend: 'waiting' }],
  }),
  graph({
    title: 'Turns reclaimed',
    description:
      'Claims of turns whose last claim had no outcome: its worker died, froze or lost Redis. The turn continues.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.turnReclaims, { by: ['instance'] }), legend: 'by {{instance}}' }],
  }),
  graph({
    title: 'Leases of turns lost',
    description:
      'fenced: another worker took over. expired: not renewed in time. gone: conversation erased. canceled: turn canceled.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.leasesLost, { by: ['why'], where: { what: '="turn"' } }), legend: '{{why}}' }],
  }),
];

export const TURNS: Dashboard = {
  name: 'turns',
  title: 'Turns and latency',
  description: 'Do turns complete, how long do they take, and which parts take the time?',
  rows: [
    { title: 'Do turns complete?', panels: VERDICT },
    { title: 'Durations', panels: LATENCY },
    { title: 'Parts of the duration', panels: PARTS },
    { title: 'How they end', panels: OUTCOMES },
    { title: 'Who has them', panels: OWNERSHIP },
  ],
};
