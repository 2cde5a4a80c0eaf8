import { REASONS } from '../../domain/compaction/thresholds.ts';
import { BACKOFF_CAUSES, PASS_FALLBACKS, SUMMARY_OUTCOMES } from '../../domain/pass-events.ts';
import type { ApprovalRefusal } from '../../domain/proposal.ts';
import { CALL_SECONDS, CONTEXT_TOKENS, COUNTS, cross, type MetricSpec, ONE, SUMMARY_TOKENS } from './metric-spec.ts';

const MADE = ['trim', 'summarize', 'evict'] as const;
const TRIGGERS = ['none', ...REASONS] as const;
/** A pass without a version has no strategy. */
const FRUITLESS = [
  'rejected',
  'expired',
  'no_reason',
  'thinking',
  'none',
  'no_gain',
  'infeasible',
  'failed',
  'superseded',
] as const;

const REFUSALS = [
  'invalid_input',
  'proposal_stale',
  'conversation_busy',
] as const satisfies readonly ApprovalRefusal['code'][];

/** Metrics of passes: requests, outcomes, savings. */
export const PASS_METRICS = {
  passRequests: {
    type: 'counter',
    name: 'turnfold_pass_requests_total',
    help: 'Requests for compaction passes by reason. A request counts once for each of its reasons.',
    labels: ['reason'],
    start: cross({ reason: REASONS }),
  },
  passBackoffs: {
    type: 'counter',
    name: 'turnfold_pass_backoffs_total',
    help: 'Passes not requested in spite of a reason: no expected gain, a backoff, or an open thinking loop.',
    labels: ['why'],
    start: cross({ why: BACKOFF_CAUSES }),
  },
  backoffStarts: {
    type: 'counter',
    name: 'turnfold_backoff_starts_total',
    help: 'Backoffs after three passes in a row that gained too little.',
    labels: [],
    start: ONE,
  },
  passes: {
    type: 'counter',
    name: 'turnfold_passes_total',
    help: 'Ended compaction passes by strategy, trigger and outcome. trigger is the strongest reason, or none. superseded: ended by a restore or a takeover.',
    labels: ['strategy', 'trigger', 'outcome'],
    start: [
      ...cross({ strategy: MADE, trigger: REASONS, outcome: ['committed', 'approved'] }),
      ...cross({ strategy: ['none'], trigger: TRIGGERS, outcome: FRUITLESS }),
    ],
  },
  passFallbacks: {
    type: 'counter',
    name: 'turnfold_pass_fallbacks_total',
    help: 'Passes that deviated from their plan: missing summaries, eviction, a relaxed floor, or a takeover by a turn.',
    labels: ['fallback'],
    start: cross({ fallback: PASS_FALLBACKS }),
  },
  passProposals: {
    type: 'counter',
    name: 'turnfold_pass_proposals_total',
    help: 'Versions proposed for review instead of committed. trigger as for passes.',
    labels: ['strategy', 'trigger'],
    start: cross({ strategy: MADE, trigger: REASONS }),
  },
  approvalsRefused: {
    type: 'counter',
    name: 'turnfold_approvals_refused_total',
    help: 'Approvals that could not be carried out. The proposal keeps waiting.',
    labels: ['code'],
    start: cross({ code: REFUSALS }),
  },
  passDuration: {
    type: 'histogram',
    name: 'turnfold_pass_duration_seconds',
    help: 'Time from the request of a compaction pass to its end.',
    labels: ['strategy', 'outcome'],
    buckets: CALL_SECONDS,
    start: cross({ strategy: MADE, outcome: ['committed'] }),
  },
  passTokensBefore: {
    type: 'histogram',
    name: 'turnfold_pass_before_tokens',
    help: 'Size of the context before a committed pass.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  passTokensAfter: {
    type: 'histogram',
    name: 'turnfold_pass_after_tokens',
    help: 'Size of the context after a committed pass.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  passSavedTokens: {
    type: 'histogram',
    name: 'turnfold_pass_saved_tokens',
    help: 'Tokens that a committed pass saved. Every later request is smaller by as many.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  archivedMessages: {
    type: 'counter',
    name: 'turnfold_archived_messages_total',
    help: 'Messages that committed passes archived. The log keeps them.',
    labels: ['strategy'],
    start: cross({ strategy: MADE }),
  },
  passSequences: {
    type: 'histogram',
    name: 'turnfold_pass_sequences',
    help: 'Sequences that a pass planned to summarize (0: none were eligible).',
    labels: [],
    buckets: COUNTS,
    start: ONE,
  },
  passFanOut: {
    type: 'histogram',
    name: 'turnfold_pass_fan_out_jobs',
    help: 'Summarization jobs that a pass fanned out at once.',
    labels: [],
    buckets: COUNTS,
    start: ONE,
  },
  versionsRefused: {
    type: 'counter',
    name: 'turnfold_versions_refused_total',
    help: 'Versions with an invalid form, found by the commit check or refused by the provider (then rolled back).',
    labels: ['by'],
    start: cross({ by: ['check', 'provider'] }),
  },
} as const satisfies Record<string, MetricSpec>;

/** Metrics of summaries: outcomes, authors, sizes. Their cost is among the model metrics. */
export const SUMMARY_METRICS = {
  summarizationJobs: {
    type: 'counter',
    name: 'turnfold_summarization_jobs_total',
    help: 'Ended summarization jobs by outcome (known: the summary existed already).',
    labels: ['outcome'],
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summarizationDuration: {
    type: 'histogram',
    name: 'turnfold_summarization_job_duration_seconds',
    help: 'Duration of the last run of a summarization job.',
    labels: ['outcome'],
    buckets: CALL_SECONDS,
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summariesWritten: {
    type: 'counter',
    name: 'turnfold_summaries_written_total',
    help: 'Summaries written, by summarizer and choice: first of the chain, or fallback after a failure or refusal.',
    labels: ['summarizer', 'choice'],
  },
  summarySourceTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_source_tokens',
    help: 'Size of the sequences that summaries were written for.',
    labels: [],
    buckets: CONTEXT_TOKENS,
    start: ONE,
  },
  summaryTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_result_tokens',
    help: 'Size of the summaries written.',
    labels: [],
    buckets: SUMMARY_TOKENS,
    start: ONE,
  },
} as const satisfies Record<string, MetricSpec>;

/** Metrics of a shadow policy, present only while one is measured. */
export const SHADOW_METRICS = {
  shadowPasses: {
    type: 'counter',
    name: 'turnfold_shadow_passes_total',
    help: 'Passes at which a shadow policy was measured, by the outcome under both policies (error: not measurable).',
    labels: ['policy', 'strategy', 'outcome'],
  },
  shadowTokensBefore: {
    type: 'histogram',
    name: 'turnfold_shadow_before_tokens',
    help: 'Size of the contexts before measured passes.',
    labels: ['policy'],
    buckets: CONTEXT_TOKENS,
  },
  shadowTokensAfter: {
    type: 'histogram',
    name: 'turnfold_shadow_after_tokens',
    help: 'Size of the contexts after measured passes, under both policies. Unchanged without a version.',
    labels: ['policy'],
    buckets: CONTEXT_TOKENS,
  },
  shadowSummaries: {
    type: 'histogram',
    name: 'turnfold_shadow_summaries',
    help: 'Summaries in the contexts after measured passes, under both policies.',
    labels: ['policy'],
    buckets: COUNTS,
  },
  shadowEvictedTokens: {
    type: 'counter',
    name: 'turnfold_shadow_evicted_tokens_total',
    help: 'Tokens evicted without a replacement in measured passes, under both policies.',
    labels: ['policy'],
  },
} as const satisfies Record<string, MetricSpec>;
