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
    help: 'Requests for compaction passes, by reason; a request counts once for each of its reasons.',
    labels: ['reason'],
    start: cross({ reason: REASONS }),
  },
  passBackoffs: {
    type: 'counter',
    name: 'turnfold_pass_backoffs_total',
    help: 'Times that there was a reason for a pass and none was asked for: nothing to gain, the breaker is open, or the turn thinks.',
    labels: ['why'],
    start: cross({ why: BACKOFF_CAUSES }),
  },
  breakerOpenings: {
    type: 'counter',
    name: 'turnfold_breaker_openings_total',
    help: 'Breakers that opened: three passes of a conversation in a row gained too little.',
    labels: [],
    start: ONE,
  },
  passes: {
    type: 'counter',
    name: 'turnfold_passes_total',
    help: 'Ended compaction passes by strategy, trigger (the strongest of the reasons; none: it failed before any was read) and outcome (superseded: a restore ended it under its worker, or a turn took it over under another id).',
    labels: ['strategy', 'trigger', 'outcome'],
    start: [
      ...cross({ strategy: MADE, trigger: REASONS, outcome: ['committed', 'approved'] }),
      ...cross({ strategy: ['none'], trigger: TRIGGERS, outcome: FRUITLESS }),
    ],
  },
  passFallbacks: {
    type: 'counter',
    name: 'turnfold_pass_fallbacks_total',
    help: 'Passes that did less well than planned: summaries were missing, it evicted instead, kept less than it should, or a turn took it over.',
    labels: ['fallback'],
    start: cross({ fallback: PASS_FALLBACKS }),
  },
  passProposals: {
    type: 'counter',
    name: 'turnfold_pass_proposals_total',
    help: 'Versions that passes under review proposed instead of committing them; trigger as for passes.',
    labels: ['strategy', 'trigger'],
    start: cross({ strategy: MADE, trigger: REASONS }),
  },
  approvalsRefused: {
    type: 'counter',
    name: 'turnfold_approvals_refused_total',
    help: 'Approvals of proposals that could not be carried out; the proposal waits on.',
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
    help: 'Size of the context that a committed pass found.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  passTokensAfter: {
    type: 'histogram',
    name: 'turnfold_pass_after_tokens',
    help: 'Size of the context that a committed pass left.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  passSavedTokens: {
    type: 'histogram',
    name: 'turnfold_pass_saved_tokens',
    help: 'Tokens by which a committed pass made its context smaller: every later request is without them.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
    start: cross({ strategy: MADE }),
  },
  archivedMessages: {
    type: 'counter',
    name: 'turnfold_archived_messages_total',
    help: 'Messages that committed passes took out of the context; the log keeps them.',
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
  versionsRejected: {
    type: 'counter',
    name: 'turnfold_versions_rejected_total',
    help: 'Versions whose form was refused, by our own check before the commit or by the provider (then rolled back).',
    labels: ['by'],
    start: cross({ by: ['check', 'provider'] }),
  },
} as const satisfies Record<string, MetricSpec>;

/** Metrics of summaries: outcomes, authors, sizes. Their cost is among the model metrics. */
export const SUMMARY_METRICS = {
  summarizationJobs: {
    type: 'counter',
    name: 'turnfold_summarization_jobs_total',
    help: 'Ended summarization jobs, by outcome (known: the summary was there already).',
    labels: ['outcome'],
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summarizationDuration: {
    type: 'histogram',
    name: 'turnfold_summarization_job_duration_seconds',
    help: 'Time that the last run of a summarization job took.',
    labels: ['outcome'],
    buckets: CALL_SECONDS,
    start: cross({ outcome: SUMMARY_OUTCOMES }),
  },
  summariesWritten: {
    type: 'counter',
    name: 'turnfold_summaries_written_total',
    help: 'Summaries written, by who wrote them: the first of the chain that takes such a sequence or, where that failed or was refused, a fallback.',
    labels: ['summarizer', 'choice'],
  },
  summarySourceTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_source_tokens',
    help: 'Size of the sequences that written summaries stand for.',
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
    help: 'Passes at which a shadow policy was measured, as each of the two ended or would have (error: it could not be).',
    labels: ['policy', 'strategy', 'outcome'],
  },
  shadowTokensBefore: {
    type: 'histogram',
    name: 'turnfold_shadow_before_tokens',
    help: 'Size of the contexts that live and shadow policy were measured over.',
    labels: ['policy'],
    buckets: CONTEXT_TOKENS,
  },
  shadowTokensAfter: {
    type: 'histogram',
    name: 'turnfold_shadow_after_tokens',
    help: 'Size of the contexts that the policies left, or would have; as before where there is no version.',
    labels: ['policy'],
    buckets: CONTEXT_TOKENS,
  },
  shadowSummaries: {
    type: 'histogram',
    name: 'turnfold_shadow_summaries',
    help: 'Summaries in the contexts that the policies left, or would have.',
    labels: ['policy'],
    buckets: COUNTS,
  },
  shadowEvictedTokens: {
    type: 'counter',
    name: 'turnfold_shadow_evicted_tokens_total',
    help: 'Tokens that the policies took out of contexts with nothing in their place, or would have.',
    labels: ['policy'],
  },
} as const satisfies Record<string, MetricSpec>;
