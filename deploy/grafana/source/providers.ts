import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, type Panel, stat } from './panel.ts';
import { increase, mean, orZero, quantile, rate, ratio, share, shared } from './promql.ts';
import { FAILED, failedRequests } from './verdicts.ts';

/** Requests to summarizers are not calibrated. */
const OF_TURNS = { purpose: '="turn"' } as const;

const VERDICT: readonly Panel[] = [
  failedRequests(4),
  stat({
    title: 'Slowest model',
    description: 'Highest 95th percentile of all models in the last 5 minutes. Next: Duration of requests.',
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
      'Requests of the last 5 minutes in which a model of a chain failed and the next was called. Next: Passed over, by model.',
    unit: 'short',
    width: 4,
    decimals: 0,
    thresholds: [{ from: 1, color: 'orange' }],
    queries: [{ expr: orZero(increase(METRICS.modelFallbacks, { window: '5m' })), legend: 'passed over' }],
  }),
  stat({
    title: 'Sizes off by',
    description:
      'Size error of turn requests for the worst model, mean of the last 30 minutes. Next: Accuracy of sizes.',
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
    description: 'Cost in the time shown, by the prices of the profiles. Models without prices are left out.',
    unit: 'currencyUSD',
    width: 4,
    decimals: 2,
    thresholds: [],
    queries: [{ expr: orZero(increase(METRICS.modelCost, { window: '$__range' })), legend: 'paid' }],
  }),
  stat({
    title: 'Read from caches',
    description:
      'Share of the input tokens in the time shown. Falls if contexts change often, because a pass makes a new prefix.',
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
    description:
      '95th percentile by model and purpose, failed requests included. For a chain (a|b), all its models together.',
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
      '95th percentile by model for requests of turns. If this is slow too, the provider queues requests. Otherwise answers are long.',
    unit: 's',
    width: 8,
    queries: [{ expr: quantile(0.95, METRICS.modelFirstText, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Asked to wait',
    description: 'Pause that limited or overloaded models asked for, mean by model. No series means no such failure.',
    unit: 's',
    width: 8,
    queries: [{ expr: mean(METRICS.modelRetryAfter, { by: ['model'] }), legend: '{{model}}' }],
  }),
];

const FAILURES: readonly Panel[] = [
  graph({
    title: 'Requests by outcome',
    description:
      'retry: limit or overload. overflow: too long for the provider. invalid: form refused. fatal: key or quota.',
    unit: 'requests/s',
    width: 6,
    isStacked: true,
    colors: { answered: 'green', fatal: 'red', retry: 'orange' },
    queries: [{ expr: rate(METRICS.modelRequests, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Failed requests by model',
    description:
      'Share of failed requests without overflow. A chain (a|b) fails if all its models fail. One failing model points to its provider, all models to the network or a proxy.',
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
    description: 'Failed models of chains by outcome. The next model answered, at its own price and speed.',
    unit: 'requests/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.modelFallbacks, { by: ['model', 'outcome'] }), legend: '{{model}}: {{outcome}}' }],
  }),
  graph({
    title: 'Waits for providers',
    description: 'Turns suspended until a limit or overload has passed. They occupy no worker.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.turnSuspensions, { where: { waits_for: '="retry"' } }), legend: 'suspended' }],
  }),
  graph({
    title: 'Calls at gates',
    description: 'Turns and summaries that wait because a provider limits their model. No series means no limit.',
    unit: 'short',
    width: 12,
    queries: [{ expr: shared(GAUGES.gateWaiting, { by: ['gate'] }), legend: '{{gate}}' }],
  }),
  graph({
    title: 'Pause of gates',
    description: 'Time until a limited model is called again.',
    unit: 's',
    width: 12,
    queries: [{ expr: shared(GAUGES.gatePaused, { by: ['gate'] }), legend: '{{gate}}' }],
  }),
];

const COST: readonly Panel[] = [
  graph({
    title: 'Cost',
    description:
      'Dollars an hour by answering model and purpose, by the prices of the profiles. For a chain, the highest price.',
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
    description: 'Tokens counted by the providers, by model. Input includes cached tokens.',
    unit: 'tokens/s',
    width: 8,
    isStacked: true,
    queries: [{ expr: rate(METRICS.modelTokens, { by: ['model', 'direction'] }), legend: '{{model}} {{direction}}' }],
  }),
  graph({
    title: 'Read from caches, by model',
    description: 'Share of the input tokens. Near 0 for a caching model, the prefix changes with each request.',
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
      'Median by model for requests of turns, after calibration. 1 is exact. Below 0.95, contexts may overflow before a pass runs.',
    unit: 'short',
    width: 8,
    queries: [
      { expr: quantile(0.5, METRICS.modelSizeEstimate, { by: ['model'], where: OF_TURNS }), legend: '{{model}}' },
    ],
  }),
  graph({
    title: 'Calibration',
    description:
      'Factor for all sizes of a model. A jump means that the provider counts differently, or another model answers.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.modelCalibration, { by: ['model'] }), legend: '{{model}}' }],
  }),
  graph({
    title: 'Requests over the window',
    description:
      'Requests over the window by our own count, each a defect of turnfold. overflow is the provider’s verdict.',
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
  description: 'Do models answer, how fast and at what price? Are request sizes estimated correctly?',
  rows: [
    { title: 'Do providers answer?', panels: VERDICT },
    { title: 'How fast', panels: SPEED },
    { title: 'How they fail', panels: FAILURES },
    { title: 'At what price', panels: COST },
    { title: 'Accuracy of sizes', panels: ESTIMATES },
  ],
};
