import { REASONS } from '../../domain/pass.ts';
import { BACKOFF_CAUSES, PASS_FALLBACKS, SUMMARY_OUTCOMES } from '../../domain/pass-events.ts';
import type { ApprovalRefusal } from '../../domain/proposal.ts';
import { CALL_SECONDS, CONTEXT_TOKENS, COUNTS, counter, histogram, SUMMARY_TOKENS } from './metric-spec.ts';

const STRATEGIES = ['trim', 'summarize', 'evict'];
/** Outcomes of a pass that made no version. Such a pass has no strategy. */
const WITHOUT_VERSION = [
  'rejected',
  'expired',
  'no_reason',
  'thinking',
  'none',
  'no_gain',
  'infeasible',
  'failed',
  'superseded',
];
const REFUSALS: readonly ApprovalRefusal['code'][] = ['invalid_input', 'proposal_stale', 'conversation_busy'];

export const PASS_METRICS = {
  passRequests: counter(
    'turnfold_pass_requests_total',
    'Requests for compaction passes. A request counts once for each of its reasons.',
    { reason: REASONS },
  ),
  passBackoffs: counter(
    'turnfold_pass_backoffs_total',
    'Compaction passes that had a reason and were not requested: no expected gain, a backoff, or a model that is still thinking across tool calls.',
    { why: BACKOFF_CAUSES },
  ),
  backoffStarts: counter(
    'turnfold_backoff_starts_total',
    'Pauses of compaction (backoffs) after three passes in a row that gained too little.',
  ),
  passes: counter(
    'turnfold_passes_total',
    'Ended compaction passes. trigger is the strongest reason, or none. superseded: ended by a restore, or taken over by a waiting turn.',
    { strategy: STRATEGIES, trigger: REASONS, outcome: ['committed', 'approved'] },
    { strategy: ['none'], trigger: ['none', ...REASONS], outcome: WITHOUT_VERSION },
  ),
  passFallbacks: counter(
    'turnfold_pass_fallbacks_total',
    'Deviations of compaction passes from their plan: missing summaries, eviction, fewer recent messages kept, or a takeover by a turn.',
    { fallback: PASS_FALLBACKS },
  ),
  passProposals: counter(
    'turnfold_pass_proposals_total',
    'Compacted contexts that were proposed for review instead of being committed. trigger is the strongest reason.',
    { strategy: STRATEGIES, trigger: REASONS },
  ),
  approvalsRefused: counter(
    'turnfold_approvals_refused_total',
    'Approvals of proposed compactions that could not be carried out. The proposal keeps waiting.',
    { code: REFUSALS },
  ),
  passDuration: histogram(
    'turnfold_pass_duration_seconds',
    'Time from the request of a compaction pass to its end.',
    CALL_SECONDS,
    { strategy: STRATEGIES, outcome: ['committed'] },
  ),
  passTokensBefore: histogram(
    'turnfold_pass_before_tokens',
    'Size of the context before a committed compaction pass.',
    CONTEXT_TOKENS,
    { strategy: STRATEGIES },
  ),
  passTokensAfter: histogram(
    'turnfold_pass_after_tokens',
    'Size of the context after a committed compaction pass.',
    CONTEXT_TOKENS,
    { strategy: STRATEGIES },
  ),
  passSavedTokens: histogram(
    'turnfold_pass_saved_tokens',
    'Tokens that a committed compaction pass removed from the context, and so from every later request.',
    CONTEXT_TOKENS,
    { strategy: STRATEGIES },
  ),
  passKeptPrefix: histogram(
    'turnfold_pass_kept_prefix_ratio',
    'Share of the tokens before a committed compaction pass that stay unchanged at the start, so that a provider can read them from its cache.',
    [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8],
    { strategy: STRATEGIES },
  ),
  archivedMessages: counter(
    'turnfold_archived_messages_total',
    'Messages that committed compaction passes removed from the context. The log keeps them.',
    { strategy: STRATEGIES },
  ),
  passSequences: histogram(
    'turnfold_pass_sequences',
    'Runs of messages (sequences) that a compaction pass planned to summarize. 0: no run could be summarized.',
    COUNTS,
  ),
  passFanOut: histogram(
    'turnfold_pass_fan_out_jobs',
    'Summarization jobs that a compaction pass added to the queue at once.',
    COUNTS,
  ),
  versionsRefused: counter(
    'turnfold_versions_refused_total',
    'Invalid versions of contexts. check: found before the commit. provider: refused by the provider and rolled back.',
    { by: ['check', 'provider'] },
  ),
};

/** The cost of summaries is in the model metrics. */
export const SUMMARY_METRICS = {
  summarizationJobs: counter(
    'turnfold_summarization_jobs_total',
    'Ended summarization jobs. known: the summary existed already.',
    { outcome: SUMMARY_OUTCOMES },
  ),
  summarizationDuration: histogram(
    'turnfold_summarization_job_duration_seconds',
    'Duration of the last attempt of a summarization job.',
    CALL_SECONDS,
    { outcome: SUMMARY_OUTCOMES },
  ),
  summariesWritten: counter(
    'turnfold_summaries_written_total',
    'Summaries written. choice: the preferred model, or a fallback after a failure or refusal.',
    { summarizer: [], choice: [] },
  ),
  summarySourceTokens: histogram(
    'turnfold_summarization_source_tokens',
    'Size of the message runs (sequences) that were summarized.',
    CONTEXT_TOKENS,
  ),
  summaryTokens: histogram('turnfold_summarization_result_tokens', 'Size of the summaries written.', SUMMARY_TOKENS),
};

const POLICY = { policy: [] };

/** Series exist only while a shadow policy is configured. */
export const SHADOW_METRICS = {
  shadowPasses: counter(
    'turnfold_shadow_passes_total',
    'Compaction passes at which a shadow policy was measured, once for each policy. error: the measurement failed.',
    { ...POLICY, strategy: [], outcome: [] },
  ),
  shadowTokensBefore: histogram(
    'turnfold_shadow_before_tokens',
    'Size of the context before a measured compaction pass.',
    CONTEXT_TOKENS,
    POLICY,
  ),
  shadowTokensAfter: histogram(
    'turnfold_shadow_after_tokens',
    'Size of the context after a measured compaction pass under each policy. Unchanged if the policy creates no version.',
    CONTEXT_TOKENS,
    POLICY,
  ),
  shadowSummaries: histogram(
    'turnfold_shadow_summaries',
    'Summaries in the context after a measured compaction pass under each policy.',
    COUNTS,
    POLICY,
  ),
  shadowEvictedTokens: counter(
    'turnfold_shadow_evicted_tokens_total',
    'Tokens that measured compaction passes evicted without a summary, under each policy.',
    POLICY,
  ),
};
