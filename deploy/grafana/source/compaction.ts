import { METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import { KEEPING_UP, VERDICT } from './compaction-verdicts.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, type Panel } from './panel.ts';
import { mean, quantile, rate, rateOfSum, ratio } from './promql.ts';

const SAVINGS: readonly Panel[] = [
  graph({
    title: 'Tokens saved',
    description: 'Tokens that committed passes saved, by strategy. Every later request is smaller by as many.',
    unit: 'tokens/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rateOfSum(METRICS.passSavedTokens, { by: ['strategy'] }), legend: '{{strategy}}' }],
  }),
  graph({
    title: 'Context before and after',
    description: 'Mean over committed passes. If both are close, passes run often and gain little.',
    unit: 'tokens',
    width: 6,
    queries: [
      { expr: mean(METRICS.passTokensBefore), legend: 'before' },
      { expr: mean(METRICS.passTokensAfter), legend: 'after' },
    ],
  }),
  graph({
    title: 'Remaining share of a context',
    description: 'Size after ÷ size before, by strategy. Near 100 %, passes gain too little for their cost.',
    unit: 'percentunit',
    width: 6,
    max: 1,
    queries: [
      {
        expr: ratio(
          rateOfSum(METRICS.passTokensAfter, { by: ['strategy'] }),
          rateOfSum(METRICS.passTokensBefore, { by: ['strategy'] }),
        ),
        legend: '{{strategy}}',
      },
    ],
  }),
  graph({
    title: 'Messages archived',
    description: 'Messages that committed passes archived, by strategy. The log keeps them.',
    unit: 'events/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.archivedMessages, { by: ['strategy'] }), legend: '{{strategy}}' }],
  }),
];

const SUMMARIES: readonly Panel[] = [
  graph({
    title: 'Summaries written by summarizer',
    description:
      'first: the first summarizer of the chain. fallback: a later one, finally structural, which needs no model.',
    unit: 'jobs/s',
    width: 6,
    isStacked: true,
    queries: [
      {
        expr: rate(METRICS.summariesWritten, { by: ['summarizer', 'choice'] }),
        legend: '{{summarizer}} ({{choice}})',
      },
    ],
  }),
  graph({
    title: 'Jobs by outcome',
    description:
      'known: the summary existed already. refused: no summary was smaller than its source. failed: all attempts failed.',
    unit: 'jobs/s',
    width: 6,
    isStacked: true,
    colors: { written: 'green', known: 'blue', failed: 'red', refused: 'orange' },
    queries: [{ expr: rate(METRICS.summarizationJobs, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Duration of jobs',
    description: 'Duration of the last run of each job that wrote a summary. A pass waits for its slowest job.',
    unit: 's',
    width: 6,
    queries: [
      { expr: quantile(0.5, METRICS.summarizationDuration, { where: { outcome: '="written"' } }), legend: 'p50' },
      { expr: quantile(0.95, METRICS.summarizationDuration, { where: { outcome: '="written"' } }), legend: 'p95' },
    ],
  }),
  graph({
    title: 'Source and summary',
    description:
      'Mean sizes. Sources are sequences between user messages. A summary has at most a quarter of its source.',
    unit: 'tokens',
    width: 6,
    queries: [
      { expr: mean(METRICS.summarySourceTokens), legend: 'source' },
      { expr: mean(METRICS.summaryTokens), legend: 'summary' },
    ],
  }),
  graph({
    title: 'Cost of summaries',
    description: 'Dollars an hour by model, by the prices of the profiles. Compare with the tokens saved.',
    unit: 'currencyUSD',
    width: 8,
    isStacked: true,
    queries: [
      {
        expr: `${rate(METRICS.modelCost, { by: ['model'], where: { purpose: '="summary"' } })} * 3600`,
        legend: '{{model}}',
      },
    ],
  }),
  graph({
    title: 'Requests for summaries',
    description: 'Calls by outcome. Failed calls cost time, and then the next summarizer is called.',
    unit: 'requests/s',
    width: 8,
    isStacked: true,
    colors: { answered: 'green', fatal: 'red', retry: 'orange' },
    queries: [
      {
        expr: rate(METRICS.modelRequests, { by: ['outcome'], where: { purpose: '="summary"' } }),
        legend: '{{outcome}}',
      },
    ],
  }),
  graph({
    title: 'Sequences and jobs of a pass',
    description: 'Means. Fewer jobs than sequences mean that some summaries were known already.',
    unit: 'short',
    width: 8,
    queries: [
      { expr: mean(METRICS.passSequences), legend: 'sequences planned' },
      { expr: mean(METRICS.passFanOut), legend: 'jobs fanned out' },
    ],
  }),
];

const TROUBLE: readonly Panel[] = [
  graph({
    title: 'Passes that deviated from their plan',
    description: 'Missing summaries, eviction instead, fewer recent messages kept, or a takeover by a turn.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.passFallbacks, { by: ['fallback'] }), legend: '{{fallback}}' }],
  }),
  graph({
    title: 'Passes not requested and backoffs',
    description:
      'Passes not requested in spite of a reason. A backoff starts after three passes in a row that gained too little.',
    unit: 'events/s',
    width: 6,
    queries: [
      { expr: rate(METRICS.passBackoffs, { by: ['why'] }), legend: 'not requested: {{why}}' },
      { expr: rate(METRICS.backoffStarts), legend: 'backoff started' },
    ],
  }),
  graph({
    title: 'Versions refused',
    description: 'check: found before the commit. provider: refused and rolled back. Please report both as defects.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.versionsRefused, { by: ['by'] }), legend: '{{by}}' }],
  }),
  graph({
    title: 'Review',
    description: 'Proposals made, and approvals that could not be carried out. Only under mode: review.',
    unit: 'events/s',
    width: 6,
    queries: [
      { expr: rate(METRICS.passProposals), legend: 'proposed' },
      { expr: rate(METRICS.approvalsRefused, { by: ['code'] }), legend: 'approval refused: {{code}}' },
    ],
  }),
];

const SHADOW: readonly Panel[] = [
  graph({
    title: 'Passes, live and shadow',
    description: 'Outcome of each pass under the live policy and under the shadow policy.',
    unit: 'passes/s',
    width: 8,
    queries: [{ expr: rate(METRICS.shadowPasses, { by: ['policy', 'outcome'] }), legend: '{{policy}}: {{outcome}}' }],
  }),
  graph({
    title: 'Context after, live and shadow',
    description: 'Mean over the same passes. A lower size is cheaper but not better: compare the evicted tokens.',
    unit: 'tokens',
    width: 8,
    queries: [{ expr: mean(METRICS.shadowTokensAfter, { by: ['policy'] }), legend: '{{policy}}' }],
  }),
  graph({
    title: 'Evicted, live and shadow',
    description: 'Tokens removed without a summary. The agent no longer knows their content.',
    unit: 'tokens/s',
    width: 8,
    queries: [{ expr: rate(METRICS.shadowEvictedTokens, { by: ['policy'] }), legend: '{{policy}}' }],
  }),
];

export const COMPACTION: Dashboard = {
  name: 'compaction',
  title: 'Compaction',
  description: 'Does compaction keep up, what does it save, what does it cost, and where does it fall back?',
  rows: [
    { title: 'Is compaction well?', panels: VERDICT },
    { title: 'Does it keep up?', panels: KEEPING_UP },
    { title: 'What it saves', panels: SAVINGS },
    { title: 'Fallbacks and refusals', panels: TROUBLE },
    { title: 'Summaries', panels: SUMMARIES },
    { title: 'Shadow policy (empty unless one is measured)', panels: SHADOW },
  ],
};
