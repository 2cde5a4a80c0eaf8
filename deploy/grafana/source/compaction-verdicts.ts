import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import { graph, type Panel, stat } from './panel.ts';
import { increase, increaseOfSum, orZero, quantile, rate, share, shared, waitOrZero } from './promql.ts';
import { oldestOpenPass } from './verdicts.ts';

/** Passes that had a reason and were not postponed. A pass that was taken over counts under its new id. */
const REAL_PASSES = { outcome: '!~"no_reason|thinking|superseded"' } as const;

export const VERDICT: readonly Panel[] = [
  oldestOpenPass(4),
  stat({
    title: 'Turns wait for compaction',
    description:
      'Delay of turns by hard passes, 95th percentile of the last 15 minutes. If frequent, lower thresholdRatio so that soft passes run earlier.',
    unit: 's',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 5, color: 'orange' },
      { from: 20, color: 'red' },
    ],
    queries: [
      {
        expr: waitOrZero(
          quantile(0.95, METRICS.turnSuspended, { where: { waits_for: '="compaction"' }, window: '15m' }),
        ),
        legend: 'p95',
      },
    ],
  }),
  stat({
    title: 'Failed passes',
    description:
      'Share of failed or infeasible passes in the last 15 minutes. Next: Passes ended, then the log of the compaction workers.',
    unit: 'percentunit',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 0.02, color: 'orange' },
      { from: 0.1, color: 'red' },
    ],
    queries: [
      {
        expr: share(
          rate(METRICS.passes, { where: { outcome: '=~"failed|infeasible"' }, window: '15m' }),
          rate(METRICS.passes, { where: REAL_PASSES, window: '15m' }),
        ),
        legend: 'failed',
      },
    ],
  }),
  stat({
    title: 'Summaries by a fallback',
    description: 'Share of the last 15 minutes: summaries that a fallback wrote after a failure or refusal.',
    unit: 'percentunit',
    width: 4,
    decimals: 1,
    thresholds: [
      { from: 0.05, color: 'orange' },
      { from: 0.2, color: 'red' },
    ],
    queries: [
      {
        expr: share(
          rate(METRICS.summariesWritten, { where: { choice: '="fallback"' }, window: '15m' }),
          rate(METRICS.summariesWritten, { window: '15m' }),
        ),
        legend: 'fallback',
      },
    ],
  }),
  stat({
    title: 'Tokens saved',
    description:
      'Tokens that passes saved in the time shown, counted once for each pass. Later requests save them again.',
    unit: 'tokens',
    width: 4,
    decimals: 0,
    thresholds: [],
    queries: [{ expr: orZero(increaseOfSum(METRICS.passSavedTokens, { window: '$__range' })), legend: 'saved' }],
  }),
  stat({
    title: 'Paid for summaries',
    description: 'Cost in the time shown, by the prices of the profiles. Summarizers without prices are left out.',
    unit: 'currencyUSD',
    width: 4,
    decimals: 2,
    thresholds: [],
    queries: [
      {
        expr: orZero(increase(METRICS.modelCost, { where: { purpose: '="summary"' }, window: '$__range' })),
        legend: 'paid',
      },
    ],
  }),
];

export const KEEPING_UP: readonly Panel[] = [
  graph({
    title: 'Open passes',
    description: 'Passes requested or in progress. A steady rise means too few compaction or summarization workers.',
    unit: 'short',
    width: 6,
    queries: [{ expr: shared(GAUGES.openPasses), legend: 'open' }],
  }),
  graph({
    title: 'Requested, by reason',
    description: 'Turns wait for hard_limit and overflow. Passes with other reasons run beside the turns.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    colors: { hard_limit: 'orange', overflow: 'red' },
    queries: [{ expr: rate(METRICS.passRequests, { by: ['reason'] }), legend: '{{reason}}' }],
  }),
  graph({
    title: 'Passes ended',
    description:
      'By outcome. no_reason: a fresh evaluation found no reason. thinking: postponed by an open thinking loop. superseded: replaced by a restore or a takeover.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    colors: { committed: 'green', failed: 'red', infeasible: 'orange' },
    queries: [{ expr: rate(METRICS.passes, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Duration of committed passes',
    description: 'Time from request to commit, 95th percentile by strategy. summarize waits for its slowest summary.',
    unit: 's',
    width: 6,
    queries: [
      {
        expr: quantile(0.95, METRICS.passDuration, { by: ['strategy'], where: { outcome: '="committed"' } }),
        legend: '{{strategy}}',
      },
    ],
  }),
];
