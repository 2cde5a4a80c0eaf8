import { CALL_SECONDS, type MetricSpec, RATIOS } from './metric-spec.ts';

/**
 * Do models answer, how fast, at what price, and as large as we took the request for? `model` is what was asked, of a chain its
 * own id (`a|b`), so that what fails has the same name as what is answered; of tokens, cost and estimates who answered. Nobody of
 * a chain answered what failed: what was paid for that is the chain's.
 */
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
