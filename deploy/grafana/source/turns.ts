import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, heatmap, type Panel, stat } from './panel.ts';
import { buckets, quantile, rate, shared, sharedLately, waitOrZero } from './promql.ts';
import { failedTurns, oldestWaitingTurn } from './verdicts.ts';

const VERDICT: readonly Panel[] = [
  oldestWaitingTurn(4),
  stat({
    title: 'Waiting turns',
    description:
      'Conversations whose next turn nobody has taken yet: what is missing in turn workers, or in their concurrency.',
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
      'From acceptance, or the time that it was scheduled for, to the first claim, 95th percentile of the last 5 minutes. Behind a turn of its conversation that waits for a person it is that wait, too.',
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
      'From acceptance, or the time that it was scheduled for, to the answer, 95th percentile of the last 5 minutes, waits for people included.',
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
      'For 7 days. `turnfold failed` lists them; `turnfold redrive` brings them again once the cause is gone.',
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
      'From acceptance, or the time that it was scheduled for, to the answer, waits included. The panels below part it into what it is made of.',
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
      'From acceptance, or the time that it was scheduled for, to the first claim. Rising with the oldest waiting job (dashboard Queues): add turn workers. Rising alone: turns wait behind others of their conversation.',
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
    description: 'How many turns took how long. Two bands are two kinds of turns: their quantiles say little.',
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
    description:
      'From a request to the first text of its answer, 95th percentile by model: how long people see nothing.',
    unit: 's',
    width: 6,
    queries: [{ expr: quantile(0.95, METRICS.modelFirstText, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Tool calls',
    description: 'Time of tools that run in the workers. They belong to your services.',
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
      '95th percentile by what was waited for. compaction: what hard passes cost turns; retry: limits and overloads of providers.',
    unit: 's',
    width: 6,
    queries: [{ expr: quantile(0.95, METRICS.turnSuspended, { by: ['waits_for'] }), legend: '{{waits_for}}' }],
  }),
];

const OUTCOMES: readonly Panel[] = [
  graph({
    title: 'Turns settled',
    description: 'By outcome. Canceled ones are not counted: no worker settles them.',
    unit: 'turns/s',
    width: 6,
    isStacked: true,
    colors: { completed: 'green', failed: 'red' },
    queries: [{ expr: rate(METRICS.turns, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Failures by code',
    description:
      'poison: each attempt died; budget_infeasible, context_overflow: nothing left to compact; model_failed: the provider.',
    unit: 'turns/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.turns, { by: ['code'], where: { outcome: '="failed"' } }), legend: '{{code}}' }],
  }),
  graph({
    title: 'Suspensions',
    description: 'By what turns wait for. A suspended turn holds no worker.',
    unit: 'events/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.turnSuspensions, { by: ['waits_for'] }), legend: '{{waits_for}}' }],
  }),
  graph({
    title: 'Tool calls by outcome',
    description: 'All but done are error results, which the model reads. outcome_unknown: a worker died amid a call.',
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
    description: 'Conversations whose next turn nobody has taken yet.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.waitingTurns), legend: 'waiting' }],
  }),
  graph({
    title: 'Turns reclaimed',
    description:
      'Claims of turns whose last claim had no outcome: its worker died, froze or lost Redis. The turn goes on.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.turnReclaims, { by: ['instance'] }), legend: 'by {{instance}}' }],
  }),
  graph({
    title: 'Leases of turns lost',
    description:
      'fenced: another worker went on; expired: no renewal in time; gone: the conversation was erased; canceled: the turn was.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.leasesLost, { by: ['why'], where: { what: '="turn"' } }), legend: '{{why}}' }],
  }),
];

export const TURNS: Dashboard = {
  name: 'turns',
  title: 'Turns and latency',
  description: 'Do turns get through, how long do they take, and what is that made of?',
  rows: [
    { title: 'Do turns get through?', panels: VERDICT },
    { title: 'How long they take', panels: LATENCY },
    { title: 'What that is made of', panels: PARTS },
    { title: 'How they end', panels: OUTCOMES },
    { title: 'Who has them', panels: OWNERSHIP },
  ],
};
