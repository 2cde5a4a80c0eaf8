import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, type Panel, stat } from './panel.ts';
import { increase, mean, orZero, quantile, rate, ratio, share, shared } from './promql.ts';
import { FAILED, failedRequests } from './verdicts.ts';

/** What summarizers are sent is not calibrated. */
const OF_TURNS = { purpose: '="turn"' } as const;

const VERDICT: readonly Panel[] = [
  failedRequests(4),
  stat({
    title: 'Slowest model',
    description: 'Highest 95th percentile of the last 5 minutes over the models. Next: Duration of requests.',
    unit: 's',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 30, color: 'orange' },
      { from: 120, color: 'red' },
    ],
    without: 'no requests',
    queries: [
      { expr: `max (${quantile(0.95, METRICS.modelRequestDuration, { by: ['model'], window: '5m' })})`, legend: 'p95' },
    ],
  }),
  stat({
    title: 'Passed over',
    description:
      'Requests of the last 5 minutes in which a model of a chain gave way to the next. Next: Passed over, by model.',
    unit: 'short',
    width: 4,
    decimals: 0,
    thresholds: [{ from: 1, color: 'orange' }],
    queries: [{ expr: orZero(increase(METRICS.modelFallbacks, { window: '5m' })), legend: 'passed over' }],
  }),
  stat({
    title: 'Sizes off by',
    description:
      'Of requests of turns to the model with the furthest estimate, mean of the last 30 minutes. Next: Whether sizes are right.',
    unit: 'percentunit',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 0.1, color: 'orange' },
      { from: 0.15, color: 'red' },
    ],
    without: 'nothing counted',
    queries: [
      {
        expr: `max (abs (${mean(METRICS.modelSizeEstimate, { by: ['model'], where: OF_TURNS, window: '30m' })} - 1))`,
        legend: 'drift',
      },
    ],
  }),
  stat({
    title: 'Paid',
    description: 'In the time shown, by the prices of the profiles; models without prices left out.',
    unit: 'currencyUSD',
    width: 4,
    decimals: 2,
    thresholds: [],
    queries: [{ expr: orZero(increase(METRICS.modelCost, { window: '$__range' })), legend: 'paid' }],
  }),
  stat({
    title: 'Read from caches',
    description: 'Of the input tokens in the time shown. Falls where contexts change often: a pass makes a new prefix.',
    unit: 'percentunit',
    width: 4,
    decimals: 0,
    max: 1,
    thresholds: [],
    queries: [
      {
        expr: share(
          increase(METRICS.modelCachedTokens, { window: '$__range' }),
          increase(METRICS.modelTokens, { where: { direction: '="input"' }, window: '$__range' }),
        ),
        legend: 'cached',
      },
    ],
  }),
];

const SPEED: readonly Panel[] = [
  graph({
    title: 'Duration of requests',
    description: '95th percentile by model and purpose, failed ones included; of a chain (a|b) all that it asked.',
    unit: 's',
    width: 8,
    queries: [
      {
        expr: quantile(0.95, METRICS.modelRequestDuration, { by: ['model', 'purpose'] }),
        legend: '{{model}} ({{purpose}})',
      },
    ],
  }),
  graph({
    title: 'First text',
    description:
      '95th percentile by model, of requests of turns. Slow here too: the provider queues; else answers are long.',
    unit: 's',
    width: 8,
    queries: [{ expr: quantile(0.95, METRICS.modelFirstText, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Asked to wait',
    description:
      'How long models that were limited or overloaded asked to be left alone, mean by model. No series: none did.',
    unit: 's',
    width: 8,
    queries: [{ expr: mean(METRICS.modelRetryAfter, { by: ['model'] }), legend: '{{model}}' }],
  }),
];

const FAILURES: readonly Panel[] = [
  graph({
    title: 'Requests by outcome',
    description:
      'retry: limit or overload; overflow: too long for the provider; invalid: its form was refused; fatal: key, quota.',
    unit: 'requests/s',
    width: 6,
    isStacked: true,
    colors: { answered: 'green', fatal: 'red', retry: 'orange' },
    queries: [{ expr: rate(METRICS.modelRequests, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Failed requests by model',
    description:
      'Share that failed, overflow aside; a chain (a|b) where all of its models did. One alone: its provider; all: the network, or a proxy of yours.',
    unit: 'percentunit',
    width: 6,
    max: 1,
    queries: [
      {
        expr: ratio(
          rate(METRICS.modelRequests, { by: ['model'], where: { outcome: FAILED } }),
          rate(METRICS.modelRequests, { by: ['model'] }),
        ),
        legend: '{{model}}',
      },
    ],
  }),
  graph({
    title: 'Passed over, by model',
    description: 'In chains, by how the model failed. The next in the chain answered, at its own price and speed.',
    unit: 'requests/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.modelFallbacks, { by: ['model', 'outcome'] }), legend: '{{model}}: {{outcome}}' }],
  }),
  graph({
    title: 'Waits for providers',
    description: 'Turns suspended until a limit or an overload has passed. They hold no worker meanwhile.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.turnSuspensions, { where: { waits_for: '="retry"' } }), legend: 'suspended' }],
  }),
];

const COST: readonly Panel[] = [
  graph({
    title: 'Cost',
    description: 'Dollars an hour by who answered and purpose, by the prices of the profiles; of a chain the dearest.',
    unit: 'currencyUSD',
    width: 8,
    isStacked: true,
    queries: [
      {
        expr: `${rate(METRICS.modelCost, { by: ['model', 'purpose'] })} * 3600`,
        legend: '{{model}} ({{purpose}})',
      },
    ],
  }),
  graph({
    title: 'Tokens',
    description: 'As the providers counted them, by model. Input includes what came from caches.',
    unit: 'tokens/s',
    width: 8,
    isStacked: true,
    queries: [{ expr: rate(METRICS.modelTokens, { by: ['model', 'direction'] }), legend: '{{model}} {{direction}}' }],
  }),
  graph({
    title: 'Read from caches, by model',
    description: 'Share of the input tokens. Near 0 for a model that caches: its prefix changes with each request.',
    unit: 'percentunit',
    width: 8,
    max: 1,
    queries: [
      {
        expr: ratio(
          rate(METRICS.modelCachedTokens, { by: ['model'] }),
          rate(METRICS.modelTokens, { by: ['model'], where: { direction: '="input"' } }),
        ),
        legend: '{{model}}',
      },
    ],
  }),
];

const ESTIMATES: readonly Panel[] = [
  graph({
    title: 'Our size ÷ the provider’s count',
    description:
      'Of turns, after calibration, median by model: 1 is exact. Below 0.95 contexts may be found too long before a pass runs.',
    unit: 'short',
    width: 8,
    queries: [
      { expr: quantile(0.5, METRICS.modelSizeEstimate, { by: ['model'], where: OF_TURNS }), legend: '{{model}}' },
    ],
  }),
  graph({
    title: 'Calibration',
    description:
      'By which all sizes for a model are multiplied. A jump: the provider counts in another way, or another model answers.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.modelCalibration, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Requests over the window',
    description: 'By our own count. Any is a defect of ours; overflow is the provider’s word for it.',
    unit: 'requests/s',
    width: 8,
    queries: [
      { expr: rate(METRICS.modelRequestsOverLimit, { by: ['model'] }), legend: 'over the window: {{model}}' },
      {
        expr: rate(METRICS.modelRequests, { by: ['model'], where: { outcome: '="overflow"' } }),
        legend: 'overflow: {{model}}',
      },
    ],
  }),
];

export const PROVIDERS: Dashboard = {
  name: 'providers',
  title: 'Providers and cost',
  description: 'Do models answer, how fast, at what price, and as large as requests were taken for?',
  rows: [
    { title: 'Do providers answer?', panels: VERDICT },
    { title: 'How fast', panels: SPEED },
    { title: 'How they fail', panels: FAILURES },
    { title: 'At what price', panels: COST },
    { title: 'Whether sizes are right', panels: ESTIMATES },
  ],
};
