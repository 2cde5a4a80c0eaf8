import { CONTEXT_TOKENS, COUNTS, type MetricSpec } from './metric-spec.ts';

/** What would another policy make of the same passes? There only while one is measured. */
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
