import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import { graph, type Panel, stat } from './panel.ts';
import { increase, increaseOfSum, orZero, quantile, rate, share, shared, waitOrZero } from './promql.ts';
import { oldestOpenPass } from './verdicts.ts';

/** Passes that were to make a version, or should have been: an evaluation without a reason, or inside a thinking loop, is none of them; one that was taken over counts under its new id. */
const REAL_PASSES = { outcome: '!~"no_reason|thinking|superseded"' } as const;

export const VERDICT: readonly Panel[] = [
  oldestOpenPass(4),
  stat({
    title: 'Turns wait for compaction',
    description:
      'How long turns stood still for a hard pass, 95th percentile of the last 15 minutes. Often: lower thresholdRatio, so that soft passes come earlier.',
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
      'Failed or infeasible, of the passes of the last 15 minutes. Next: Passes ended, then the log of the compaction workers.',
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
    description: 'Of the summaries of the last 15 minutes: written because a summarizer before failed or was refused.',
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
      'By which contexts became smaller in the time shown, once for each pass: later requests save it again.',
    unit: 'tokens',
    width: 4,
    decimals: 0,
    thresholds: [],
    queries: [{ expr: orZero(increaseOfSum(METRICS.passSavedTokens, { window: '$__range' })), legend: 'saved' }],
  }),
  stat({
    title: 'Paid for summaries',
    description: 'In the time shown, by the prices of the profiles; summarizers without prices left out.',
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
    description:
      'Requested or in progress: conversations over a threshold. Rising steadily: too few compaction or summarization workers.',
    unit: 'short',
    width: 6,
    queries: [{ expr: shared(GAUGES.openPasses), legend: 'open' }],
  }),
  graph({
    title: 'Requested, by reason',
    description: 'hard_limit and overflow have a turn wait; the others run behind the turns.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    colors: { hard_limit: 'orange', overflow: 'red' },
    queries: [{ expr: rate(METRICS.passRequests, { by: ['reason'] }), legend: '{{reason}}' }],
  }),
  graph({
    title: 'Passes ended',
    description:
      'By outcome. no_reason: a look at fresh state found none any more; thinking: it waits until the model has answered; superseded: a restore, or the turn that waited for it, took its place.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    colors: { committed: 'green', failed: 'red', infeasible: 'orange' },
    queries: [{ expr: rate(METRICS.passes, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Duration of committed passes',
    description:
      'From the request to the commit, 95th percentile by strategy. summarize waits for its slowest summary.',
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
