import { METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import { KEEPING_UP, VERDICT } from './compaction-verdicts.ts';
import type { Dashboard } from './dashboard.ts';
import { graph, type Panel } from './panel.ts';
import { mean, quantile, rate, rateOfSum, ratio } from './promql.ts';

const SAVINGS: readonly Panel[] = [
  graph({
    title: 'Tokens saved',
    description: 'By which committed passes made contexts smaller, by strategy. Every later request is without them.',
    unit: 'tokens/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rateOfSum(METRICS.passSavedTokens, { by: ['strategy'] }), legend: '{{strategy}}' }],
  }),
  graph({
    title: 'Context before and after',
    description: 'Mean over committed passes. An after close to the before: passes run often and gain little.',
    unit: 'tokens',
    width: 6,
    queries: [
      { expr: mean(METRICS.passTokensBefore), legend: 'before' },
      { expr: mean(METRICS.passTokensAfter), legend: 'after' },
    ],
  }),
  graph({
    title: 'What is left of a context',
    description: 'After ÷ before, by strategy. Towards 100 % a pass is hardly worth its price.',
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
    description: 'That committed passes took out of contexts, by strategy. The log keeps them.',
    unit: 'events/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.archivedMessages, { by: ['strategy'] }), legend: '{{strategy}}' }],
  }),
];

const SUMMARIES: readonly Panel[] = [
  graph({
    title: 'Summaries written, by whom',
    description:
      'first: the first of the policy that takes such a sequence; fallback: one behind it, at the end structural, which needs no model.',
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
      'known: the summary was there already; refused: none was smaller than its source; failed: every attempt did.',
    unit: 'jobs/s',
    width: 6,
    isStacked: true,
    colors: { written: 'green', known: 'blue', failed: 'red', refused: 'orange' },
    queries: [{ expr: rate(METRICS.summarizationJobs, { by: ['outcome'] }), legend: '{{outcome}}' }],
  }),
  graph({
    title: 'Duration of jobs',
    description: 'Of the last run of each job that wrote a summary. A pass waits for its slowest one.',
    unit: 's',
    width: 6,
    queries: [
      { expr: quantile(0.5, METRICS.summarizationDuration, { where: { outcome: '="written"' } }), legend: 'p50' },
      { expr: quantile(0.95, METRICS.summarizationDuration, { where: { outcome: '="written"' } }), legend: 'p95' },
    ],
  }),
  graph({
    title: 'Source and summary',
    description: 'Mean sizes. Sources are sequences between user messages; a summary is at most a quarter of its own.',
    unit: 'tokens',
    width: 6,
    queries: [
      { expr: mean(METRICS.summarySourceTokens), legend: 'source' },
      { expr: mean(METRICS.summaryTokens), legend: 'summary' },
    ],
  }),
  graph({
    title: 'Cost of summaries',
    description: 'Dollars an hour by model, by the prices of the profiles. To be held against the tokens saved.',
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
    description: 'By outcome. All that are not answered cost time, and then go to the next summarizer.',
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
    description: 'Means. Fewer jobs than sequences: the rest of the summaries was known already.',
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
    title: 'Passes that did less well than planned',
    description:
      'Summaries were missing, it evicted instead, the retention window yielded, or a turn settled the pass itself.',
    unit: 'passes/s',
    width: 6,
    isStacked: true,
    queries: [{ expr: rate(METRICS.passFallbacks, { by: ['fallback'] }), legend: '{{fallback}}' }],
  }),
  graph({
    title: 'Passes held',
    description:
      'There was a reason, and the gate was shut. A breaker opens after three passes in a row that gained too little.',
    unit: 'events/s',
    width: 6,
    queries: [
      { expr: rate(METRICS.passBackoffs, { by: ['why'] }), legend: 'held: {{why}}' },
      { expr: rate(METRICS.breakerOpenings), legend: 'breaker opened' },
    ],
  }),
  graph({
    title: 'Versions rejected',
    description:
      'check: found before the commit; provider: refused and rolled back. Either is a defect worth a report.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.versionsRejected, { by: ['by'] }), legend: '{{by}}' }],
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
    description: 'How each pass ended under the live policy, and would have under the other.',
    unit: 'passes/s',
    width: 8,
    queries: [{ expr: rate(METRICS.shadowPasses, { by: ['policy', 'outcome'] }), legend: '{{policy}}: {{outcome}}' }],
  }),
  graph({
    title: 'Context after, live and shadow',
    description: 'Mean over the same passes. Lower is cheaper, not better: see what is evicted for it.',
    unit: 'tokens',
    width: 8,
    queries: [{ expr: mean(METRICS.shadowTokensAfter, { by: ['policy'] }), legend: '{{policy}}' }],
  }),
  graph({
    title: 'Evicted, live and shadow',
    description: 'Tokens taken out with nothing in their place: what the agent would no longer know.',
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
    { title: 'Where it falls back', panels: TROUBLE },
    { title: 'Summaries', panels: SUMMARIES },
    { title: 'Shadow policy (empty unless one is measured)', panels: SHADOW },
  ],
};
