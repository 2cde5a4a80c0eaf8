import { ERROR_CODES } from '../../domain/errors.ts';
import { TOOL_OUTCOMES } from '../../domain/events.ts';
import { WAIT_KINDS } from '../../domain/turn.ts';
import { CALL_SECONDS, counter, histogram, RATIOS, TURN_SECONDS } from './metric-spec.ts';

const FAILURE_CODES = Object.entries(ERROR_CODES).flatMap(([code, whose]) => (whose === 'turn' ? [code] : []));

export const TURN_METRICS = {
  turns: counter(
    'turnfold_turns_total',
    'Turns settled by workers. The code of a completed turn is none.',
    { outcome: ['completed'], code: ['none'] },
    { outcome: ['failed'], code: FAILURE_CODES },
  ),
  turnsLeft: counter(
    'turnfold_turns_left_context_total',
    'Turns whose messages left the context: a provider refused them, or they alone exceed the window.',
    { why: ['refused', 'too_large'] },
  ),
  turnDuration: histogram(
    'turnfold_turn_duration_seconds',
    'Time from the acceptance of a turn, or its due time, until it is settled. Waits are included.',
    TURN_SECONDS,
    { outcome: ['completed', 'failed'] },
  ),
  turnWait: histogram(
    'turnfold_turn_wait_seconds',
    'Time from the acceptance of a turn, or its due time, until its first claim. Earlier turns of its conversation add to it.',
    TURN_SECONDS,
  ),
  turnReclaims: counter(
    'turnfold_turn_reclaims_total',
    'Claims of turns of which an earlier claim ended without an outcome, because its worker died, froze or lost Redis.',
  ),
  turnSuspensions: counter(
    'turnfold_turn_suspensions_total',
    'Turns that were suspended to wait for a tool, an approval, a compaction or a retry.',
    { waits_for: WAIT_KINDS },
  ),
  turnSuspended: histogram(
    'turnfold_turn_suspended_seconds',
    'Time from the suspension of a turn until a worker resumes it. For compaction: how long passes delay turns.',
    TURN_SECONDS,
    { waits_for: WAIT_KINDS },
  ),
  toolCalls: counter(
    'turnfold_tool_calls_total',
    'Tool calls that have a result. Every outcome but done is an error result.',
    { outcome: TOOL_OUTCOMES },
  ),
  toolCallDuration: histogram('turnfold_tool_call_duration_seconds', 'Duration of tool calls.', CALL_SECONDS),
};

/** Labels whose values are not known at the start. A series appears with the first call of its model. */
const CALLS = { purpose: [], model: [] };

export const MODEL_METRICS = {
  modelRequests: counter('turnfold_model_requests_total', 'Requests to models. A chain of models is named a|b.', {
    ...CALLS,
    outcome: [],
  }),
  modelRequestDuration: histogram(
    'turnfold_model_request_duration_seconds',
    'Duration of requests to models, failed ones included. For a chain (a|b): all its models together.',
    CALL_SECONDS,
    CALLS,
  ),
  modelFirstText: histogram(
    'turnfold_model_first_text_seconds',
    "Time from a turn's request to the first text of the answer. Answers without text do not count.",
    CALL_SECONDS,
    { model: [] },
  ),
  modelRetryAfter: histogram(
    'turnfold_model_retry_after_seconds',
    'Pause that a rate-limited or overloaded provider asked for. Failures without such a pause do not count.',
    CALL_SECONDS,
    CALLS,
  ),
  modelFallbacks: counter(
    'turnfold_model_fallbacks_total',
    'Failed calls of a model in a chain, after which the next model of the chain was called.',
    { ...CALLS, outcome: [] },
  ),
  modelIgnoredCounts: counter(
    'turnfold_model_ignored_counts_total',
    'Token counts of a provider that turnfold did not use. excess: no tokenizer needs so many. truncated: the provider cuts requests without an error.',
    { model: [], why: ['excess', 'truncated'] },
  ),
  modelTokens: counter(
    'turnfold_model_tokens_total',
    'Tokens counted by the provider, by the model that answered. Input includes cached tokens.',
    { ...CALLS, direction: [] },
  ),
  modelCachedTokens: counter(
    'turnfold_model_cached_tokens_total',
    'Input tokens that the provider read from its cache.',
    CALLS,
  ),
  modelCost: counter(
    'turnfold_model_cost_dollars_total',
    'Cost of the tokens by the prices in the model profile. A chain uses its highest prices. Models without prices do not count.',
    CALLS,
  ),
  modelSizeEstimate: histogram(
    'turnfold_model_size_estimate_ratio',
    "Our token count of a request ÷ the provider's count. 1 is exact. Below 1, requests may exceed the window.",
    RATIOS,
    CALLS,
  ),
  modelRequestsOverLimit: counter(
    'turnfold_model_requests_over_limit_total',
    'Requests that exceeded the usable window by our token count.',
    CALLS,
  ),
};
