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
    help: 'Turns that workers settled, by outcome and by the code of the failure (none: completed).',
    labels: ['outcome', 'code'],
    start: [{ outcome: 'completed', code: 'none' }, ...cross({ outcome: ['failed'], code: FAILURE_CODES })],
  },
  turnDuration: {
    type: 'histogram',
    name: 'turnfold_turn_duration_seconds',
    help: 'Time from the acceptance of a turn, of a scheduled one from its time, to its settling, its waits included.',
    labels: ['outcome'],
    buckets: TURN_SECONDS,
    start: cross({ outcome: ['completed', 'failed'] }),
  },
  turnWait: {
    type: 'histogram',
    name: 'turnfold_turn_wait_seconds',
    help: 'Time from the acceptance of a turn, of a scheduled one from its time, to its first claim: also behind the turns before it.',
    labels: [],
    buckets: TURN_SECONDS,
    start: ONE,
  },
  turnReclaims: {
    type: 'counter',
    name: 'turnfold_turn_reclaims_total',
    help: 'Claims of turns whose last claim had no outcome: its worker died, froze or lost Redis. An orderly stop does not count.',
    labels: [],
    start: ONE,
  },
  turnSuspensions: {
    type: 'counter',
    name: 'turnfold_turn_suspensions_total',
    help: 'Suspensions of turns, by what the turn waits for.',
    labels: ['waits_for'],
    start: cross({ waits_for: WAIT_KINDS }),
  },
  turnSuspended: {
    type: 'histogram',
    name: 'turnfold_turn_suspended_seconds',
    help: 'Time from the suspension of a turn to the claim that goes on with it; for compaction: what hard passes cost turns.',
    labels: ['waits_for'],
    buckets: TURN_SECONDS,
    start: cross({ waits_for: WAIT_KINDS }),
  },
  toolCalls: {
    type: 'counter',
    name: 'turnfold_tool_calls_total',
    help: 'Answered tool calls, by outcome; all but done are error results.',
    labels: ['outcome'],
    start: cross({ outcome: TOOL_OUTCOMES }),
  },
  toolCallDuration: {
    type: 'histogram',
    name: 'turnfold_tool_call_duration_seconds',
    help: 'Time that tool calls took.',
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
    help: 'Requests to models, or to chains as a whole (a|b), by what for and how they ended; all outcomes from the first one on.',
    labels: ['purpose', 'model', 'outcome'],
  },
  modelRequestDuration: {
    type: 'histogram',
    name: 'turnfold_model_request_duration_seconds',
    help: 'Time that requests to models took, of a chain (a|b) all that it asked, failed ones included.',
    labels: ['purpose', 'model'],
    buckets: CALL_SECONDS,
  },
  modelFirstText: {
    type: 'histogram',
    name: 'turnfold_model_first_text_seconds',
    help: "Time from a turn's request to the first text of its answer; answers without text have none.",
    labels: ['model'],
    buckets: CALL_SECONDS,
  },
  modelRetryAfter: {
    type: 'histogram',
    name: 'turnfold_model_retry_after_seconds',
    help: 'How long models that were limited or overloaded asked to be left alone; a request without such a word has none.',
    labels: ['purpose', 'model'],
    buckets: CALL_SECONDS,
  },
  modelFallbacks: {
    type: 'counter',
    name: 'turnfold_model_fallbacks_total',
    help: 'Times that a model of a chain, by its own id, was passed over for the next one, by how it failed.',
    labels: ['purpose', 'model', 'outcome'],
  },
  modelTokens: {
    type: 'counter',
    name: 'turnfold_model_tokens_total',
    help: 'Tokens as the providers counted them, by who answered and direction: input (cached ones included) or output.',
    labels: ['purpose', 'model', 'direction'],
  },
  modelCachedTokens: {
    type: 'counter',
    name: 'turnfold_model_cached_tokens_total',
    help: "Input tokens that were read from the providers' caches.",
    labels: ['purpose', 'model'],
  },
  modelCost: {
    type: 'counter',
    name: 'turnfold_model_cost_dollars_total',
    help: 'What the tokens cost by the prices of the profile (of a chain the dearest); nothing for models without prices.',
    labels: ['purpose', 'model'],
  },
  modelSizeEstimate: {
    type: 'histogram',
    name: 'turnfold_model_size_estimate_ratio',
    help: "Our own size of a request ÷ the provider's count of it: 1 is exact, below it windows may overflow.",
    labels: ['purpose', 'model'],
    buckets: RATIOS,
  },
  modelRequestsOverLimit: {
    type: 'counter',
    name: 'turnfold_model_requests_over_limit_total',
    help: 'Requests to models whose tokens, as counted here, exceeded the usable window.',
    labels: ['purpose', 'model'],
  },
} as const satisfies Record<string, MetricSpec>;
