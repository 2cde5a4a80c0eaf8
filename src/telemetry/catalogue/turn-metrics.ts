import { ERROR_CODES } from '../../domain/errors.ts';
import { TOOL_OUTCOMES } from '../../domain/events.ts';
import { WAIT_KINDS } from '../../domain/turn.ts';
import { CALL_SECONDS, cross, type MetricSpec, ONE, RATIOS, TURN_SECONDS } from './metric-spec.ts';

const FAILURE_CODES = Object.entries(ERROR_CODES).flatMap(([code, whose]) => (whose === 'turn' ? [code] : []));

/** Metrics of turns and tool calls: outcomes, durations, waits. */
export const TURN_METRICS = {
  turns: {
    type: 'counter',
    name: 'turnfold_turns_total',
    help: 'Turns settled by workers, by outcome and error code (none: completed).',
    labels: ['outcome', 'code'],
    start: [{ outcome: 'completed', code: 'none' }, ...cross({ outcome: ['failed'], code: FAILURE_CODES })],
  },
  turnDuration: {
    type: 'histogram',
    name: 'turnfold_turn_duration_seconds',
    help: 'Time from accepting a turn, or from its due time, to settling. Includes waits.',
    labels: ['outcome'],
    buckets: TURN_SECONDS,
    start: cross({ outcome: ['completed', 'failed'] }),
  },
  turnWait: {
    type: 'histogram',
    name: 'turnfold_turn_wait_seconds',
    help: 'Time from accepting a turn, or from its due time, to its first claim. Includes the turns before it.',
    labels: [],
    buckets: TURN_SECONDS,
    start: ONE,
  },
  turnReclaims: {
    type: 'counter',
    name: 'turnfold_turn_reclaims_total',
    help: 'Claims of turns whose last claim had no outcome: its worker died, froze or lost Redis. Orderly stops do not count.',
    labels: [],
    start: ONE,
  },
  turnSuspensions: {
    type: 'counter',
    name: 'turnfold_turn_suspensions_total',
    help: 'Suspensions of turns by kind of wait.',
    labels: ['waits_for'],
    start: cross({ waits_for: WAIT_KINDS }),
  },
  turnSuspended: {
    type: 'histogram',
    name: 'turnfold_turn_suspended_seconds',
    help: 'Time from the suspension of a turn to the claim that resumes it. compaction: the delay by hard passes.',
    labels: ['waits_for'],
    buckets: TURN_SECONDS,
    start: cross({ waits_for: WAIT_KINDS }),
  },
  toolCalls: {
    type: 'counter',
    name: 'turnfold_tool_calls_total',
    help: 'Answered tool calls by outcome. All but done are error results.',
    labels: ['outcome'],
    start: cross({ outcome: TOOL_OUTCOMES }),
  },
  toolCallDuration: {
    type: 'histogram',
    name: 'turnfold_tool_call_duration_seconds',
    help: 'Duration of tool calls.',
    labels: [],
    buckets: CALL_SECONDS,
    start: ONE,
  },
} as const satisfies Record<string, MetricSpec>;

/** Metrics of model calls: outcomes, durations, tokens, cost, and the quality of our size estimates. */
export const MODEL_METRICS = {
  modelRequests: {
    type: 'counter',
    name: 'turnfold_model_requests_total',
    help: 'Requests to models and chains (a|b), by purpose and outcome.',
    labels: ['purpose', 'model', 'outcome'],
  },
  modelRequestDuration: {
    type: 'histogram',
    name: 'turnfold_model_request_duration_seconds',
    help: 'Duration of requests to models, failed ones included. For a chain (a|b), of all its models together.',
    labels: ['purpose', 'model'],
    buckets: CALL_SECONDS,
  },
  modelFirstText: {
    type: 'histogram',
    name: 'turnfold_model_first_text_seconds',
    help: "Time from a turn's request to the first text of the answer. Answers without text do not count.",
    labels: ['model'],
    buckets: CALL_SECONDS,
  },
  modelRetryAfter: {
    type: 'histogram',
    name: 'turnfold_model_retry_after_seconds',
    help: 'Pause that limited or overloaded models asked for. Failures without a requested pause do not count.',
    labels: ['purpose', 'model'],
    buckets: CALL_SECONDS,
  },
  modelFallbacks: {
    type: 'counter',
    name: 'turnfold_model_fallbacks_total',
    help: 'Fallbacks in a chain: a model failed and the next one was called, by outcome.',
    labels: ['purpose', 'model', 'outcome'],
  },
  modelTokens: {
    type: 'counter',
    name: 'turnfold_model_tokens_total',
    help: 'Tokens counted by providers, by answering model and direction: input (cached ones included) or output.',
    labels: ['purpose', 'model', 'direction'],
  },
  modelCachedTokens: {
    type: 'counter',
    name: 'turnfold_model_cached_tokens_total',
    help: "Input tokens read from the providers' caches.",
    labels: ['purpose', 'model'],
  },
  modelCost: {
    type: 'counter',
    name: 'turnfold_model_cost_dollars_total',
    help: 'Cost of the tokens by the prices of the profile, for a chain the highest. Models without prices do not count.',
    labels: ['purpose', 'model'],
  },
  modelSizeEstimate: {
    type: 'histogram',
    name: 'turnfold_model_size_estimate_ratio',
    help: "Our size of a request ÷ the provider's count. 1 is exact. Below 1, windows may overflow.",
    labels: ['purpose', 'model'],
    buckets: RATIOS,
  },
  modelRequestsOverLimit: {
    type: 'counter',
    name: 'turnfold_model_requests_over_limit_total',
    help: 'Requests whose size by our count exceeded the usable window.',
    labels: ['purpose', 'model'],
  },
} as const satisfies Record<string, MetricSpec>;
