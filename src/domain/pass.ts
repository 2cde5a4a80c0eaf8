/** How a pass ended. */
export type PassOutcome =
  | { readonly kind: 'committed'; readonly version: number }
  /** The pass committed its proposal after a person approved it. */
  | { readonly kind: 'approved'; readonly version: number }
  | {
      /** `rejected`: a person rejected the proposal. `expired`: no decision came in time. */
      readonly kind: 'rejected' | 'expired';
    }
  /** The threshold check on fresh state found no reason. */
  | { readonly kind: 'no_reason' }
  /** The pass was soft, and a model thinks over the context. The pass is requested again after that. */
  | { readonly kind: 'thinking' }
  /** A reason held, but nothing could be removed. */
  | { readonly kind: 'none' }
  /** The gain was too small for a new version. */
  | { readonly kind: 'no_gain' }
  | { readonly kind: 'infeasible' }
  | { readonly kind: 'failed'; readonly code: string };

/** Decides whether a pass took place. If so, turns and messages count from its end. */
export function isCounted(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return kind !== 'no_reason' && kind !== 'thinking';
}

/**
 * Decides whether a pass with this end leaves a size that no other pass would change now. Only such an end fulfils the
 * wait of a turn (I13). `SETTLES_SIZE` in lua/shared/pass-end.lua is the same list.
 */
export function settlesSize(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return ['committed', 'approved', 'none', 'no_gain', 'infeasible'].includes(kind);
}

/** Times and budgets of passes. Times are in ms. */
export const PASS_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Attempts before the first plan, and again after it. The last one settles with the summaries so far. One more fails
   * the pass.
   */
  maxAttempts: 3,
  /** Time for which only its own job may claim a parked pass. */
  parkMs: 60_000,
  /** Consecutive passes without gain that start a backoff. */
  backoffPasses: 3,
  /** Growth of the context that ends a backoff. */
  backoffGrowth: 1.15,
  summaryTtlMs: 604_800_000,
  refusalTtlMs: 86_400_000,
  summaryClaimMs: 8_000,
  /** Depth of merged summaries: a summary of a summary is allowed, but no further level. */
  maxSummaryDepth: 2,
  keepVersions: 200,
} as const;
