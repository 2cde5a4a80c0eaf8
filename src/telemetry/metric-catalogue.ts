/** What a metric is called, says and is split by. Base units: seconds and tokens. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  /** each with few values, known beforehand: never an id, and no tool names, since services bring their own */
  readonly labels: readonly string[];
  /** upper bounds of a histogram */
  readonly buckets?: readonly number[];
}

/** A no-op turn takes milliseconds, an approval may take a day. */
const TURN_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400];
/** up to the time limit of a step */
const CALL_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const CONTEXT_TOKENS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000];
/** a summary has at most 2,000 by default */
const SUMMARY_TOKENS = [32, 64, 125, 250, 500, 750, 1_000, 1_500, 2_000, 4_000];
const COUNTS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Every metric of the project but those of the Node process, which prom-client brings. */
export const METRICS = {
  turns: {
    type: 'counter',
    name: 'turnfold_turns_total',
    help: 'Turns that workers settled, by outcome and by the code of the failure (none: completed).',
    labels: ['outcome', 'code'],
  },
  turnDuration: {
    type: 'histogram',
    name: 'turnfold_turn_duration_seconds',
    help: 'Time from the acceptance of a turn to its settling, its waits included.',
    labels: ['outcome'],
    buckets: TURN_SECONDS,
  },
  turnWait: {
    type: 'histogram',
    name: 'turnfold_turn_wait_seconds',
    help: 'Time from the acceptance of a turn to its first claim.',
    labels: [],
    buckets: TURN_SECONDS,
  },
  turnSuspensions: {
    type: 'counter',
    name: 'turnfold_turn_suspensions_total',
    help: 'Suspensions of turns, by what the turn waits for.',
    labels: ['waits_for'],
  },
  toolCalls: {
    type: 'counter',
    name: 'turnfold_tool_calls_total',
    help: 'Answered tool calls, by outcome; all but done are error results.',
    labels: ['outcome'],
  },
  toolCallDuration: {
    type: 'histogram',
    name: 'turnfold_tool_call_duration_seconds',
    help: 'Time that tool calls took.',
    labels: [],
    buckets: CALL_SECONDS,
  },
  modelRequests: {
    type: 'counter',
    name: 'turnfold_model_requests_total',
    help: 'Requests to models, by what for and how they ended.',
    labels: ['purpose', 'model', 'outcome'],
  },
  modelRequestDuration: {
    type: 'histogram',
    name: 'turnfold_model_request_duration_seconds',
    help: 'Time that requests to models took, failed ones included.',
    labels: ['purpose', 'model'],
    buckets: CALL_SECONDS,
  },
  modelTokens: {
    type: 'counter',
    name: 'turnfold_model_tokens_total',
    help: 'Tokens as the providers counted them, by direction: input (cached ones included) or output.',
    labels: ['purpose', 'model', 'direction'],
  },
  modelRequestsOverLimit: {
    type: 'counter',
    name: 'turnfold_model_requests_over_limit_total',
    help: 'Requests to models whose tokens, as counted here, exceeded the usable window.',
    labels: ['purpose', 'model'],
  },
  passRequests: {
    type: 'counter',
    name: 'turnfold_pass_requests_total',
    help: 'Requests for compaction passes, by reason; a request counts once for each of its reasons.',
    labels: ['reason'],
  },
  passes: {
    type: 'counter',
    name: 'turnfold_passes_total',
    help: 'Ended compaction passes; trigger is the strongest of the reasons (none: the pass failed before any was read).',
    labels: ['strategy', 'trigger', 'outcome'],
  },
  passProposals: {
    type: 'counter',
    name: 'turnfold_pass_proposals_total',
    help: 'Versions that passes under review proposed instead of committing them; trigger as for passes.',
    labels: ['strategy', 'trigger'],
  },
  approvalsRefused: {
    type: 'counter',
    name: 'turnfold_approvals_refused_total',
    help: 'Approvals of proposals that could not be carried out; the proposal waits on.',
    labels: ['code'],
  },
  passDuration: {
    type: 'histogram',
    name: 'turnfold_pass_duration_seconds',
    help: 'Time from the request of a compaction pass to its end.',
    labels: ['strategy', 'outcome'],
    buckets: CALL_SECONDS,
  },
  passTokensBefore: {
    type: 'histogram',
    name: 'turnfold_pass_before_tokens',
    help: 'Size of the context that a committed pass found.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
  },
  passTokensAfter: {
    type: 'histogram',
    name: 'turnfold_pass_after_tokens',
    help: 'Size of the context that a committed pass left.',
    labels: ['strategy'],
    buckets: CONTEXT_TOKENS,
  },
  archivedMessages: {
    type: 'counter',
    name: 'turnfold_archived_messages_total',
    help: 'Messages that committed passes took out of the context; the log keeps them.',
    labels: ['strategy'],
  },
  passSequences: {
    type: 'histogram',
    name: 'turnfold_pass_sequences',
    help: 'Sequences that a pass planned to summarize (0: none were eligible).',
    labels: [],
    buckets: COUNTS,
  },
  passFanOut: {
    type: 'histogram',
    name: 'turnfold_pass_fan_out_jobs',
    help: 'Summarization jobs that a pass fanned out at once.',
    labels: [],
    buckets: COUNTS,
  },
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
  shadowCheckpoints: {
    type: 'histogram',
    name: 'turnfold_shadow_checkpoints',
    help: 'Checkpoints in the contexts that the policies left, or would have.',
    labels: ['policy'],
    buckets: COUNTS,
  },
  shadowEvictedTokens: {
    type: 'counter',
    name: 'turnfold_shadow_evicted_tokens_total',
    help: 'Tokens that the policies took out of contexts with nothing in their place, or would have.',
    labels: ['policy'],
  },
  summarizationJobs: {
    type: 'counter',
    name: 'turnfold_summarization_jobs_total',
    help: 'Ended summarization jobs, by outcome (known: the summary was there already).',
    labels: ['outcome'],
  },
  summarizationDuration: {
    type: 'histogram',
    name: 'turnfold_summarization_job_duration_seconds',
    help: 'Time that the last run of a summarization job took.',
    labels: ['outcome'],
    buckets: CALL_SECONDS,
  },
  summarySourceTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_source_tokens',
    help: 'Size of the sequences that written summaries stand for.',
    labels: [],
    buckets: CONTEXT_TOKENS,
  },
  summaryTokens: {
    type: 'histogram',
    name: 'turnfold_summarization_result_tokens',
    help: 'Size of the summaries written.',
    labels: [],
    buckets: SUMMARY_TOKENS,
  },
  versionsRejected: {
    type: 'counter',
    name: 'turnfold_versions_rejected_total',
    help: 'Versions whose form was refused, by our own check before the commit or by the provider (then rolled back).',
    labels: ['by'],
  },
  leasesLost: {
    type: 'counter',
    name: 'turnfold_leases_lost_total',
    help: 'Turns and passes that a worker stopped because they were no longer its own (gone: erased).',
    labels: ['what', 'why'],
  },
  workerFailures: {
    type: 'counter',
    name: 'turnfold_worker_failures_total',
    help: 'Failures that belong to no turn: a sweep, a job, a summarizer, a service that is away.',
    labels: ['where'],
  },
  measureFailures: {
    type: 'counter',
    name: 'turnfold_measure_failures_total',
    help: 'Measures behind a gauge that failed or came too late; their gauges are absent meanwhile.',
    labels: ['measure'],
  },
} as const satisfies Record<string, MetricSpec>;

/** Gauges of the shared state: every worker measures the same, so that a query takes their max, never their sum. */
export const GAUGES = {
  waitingTurns: {
    type: 'gauge',
    name: 'turnfold_waiting_turns',
    help: 'Conversations whose next turn waits for a worker: wakes in the turn queue that nobody has taken.',
    labels: [],
  },
  oldestWaitingTurn: {
    type: 'gauge',
    name: 'turnfold_oldest_waiting_turn_age_seconds',
    help: 'How long the turn wake that is next has waited for a worker.',
    labels: [],
  },
  modelCalibration: {
    type: 'gauge',
    name: 'turnfold_model_calibration_ratio',
    help: 'What the provider counts of a request ÷ our own count, by which every size is multiplied (0.5 to 2).',
    labels: ['model'],
  },
  overdueEntries: {
    type: 'gauge',
    name: 'turnfold_overdue_entries',
    help: 'Entries of the ready sets that are past their time: somebody should have looked.',
    labels: [],
  },
  oldestOverdueEntry: {
    type: 'gauge',
    name: 'turnfold_oldest_overdue_entry_age_seconds',
    help: 'How far the oldest such entry is past its time.',
    labels: [],
  },
  redisMemory: {
    type: 'gauge',
    name: 'turnfold_redis_memory_ratio',
    help: "Memory that Redis uses ÷ its maxmemory; absent where it has none. Of a Cluster's masters the highest.",
    labels: [],
  },
  /** named as by BullMQ's own exporter, whose dashboards then work as they are */
  jobs: {
    type: 'gauge',
    name: 'bullmq_job_count',
    help: 'Jobs in the queues, by state.',
    labels: ['queue', 'state'],
  },
} as const satisfies Record<string, MetricSpec>;
