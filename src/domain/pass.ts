/** How a compaction pass ended. */
export type PassOutcome =
  | { readonly kind: 'committed'; readonly version: number }
  /** A person approved the proposed version, and the compaction pass committed it. */
  | { readonly kind: 'approved'; readonly version: number }
  | {
      /** `rejected`: a person rejected the proposal. `expired`: no decision arrived in time. */
      readonly kind: 'rejected' | 'expired';
    }
  /** By the time the compaction pass started, no threshold was reached any more. */
  | { readonly kind: 'no_reason' }
  /**
   * A model is reasoning over this context between tool calls, so the soft compaction pass stopped. The end of the turn
   * requests the pass again.
   */
  | { readonly kind: 'thinking' }
  /** A threshold was reached, but compaction is not allowed to remove any message. */
  | { readonly kind: 'none' }
  /** Compaction would have saved too few tokens for a new version. */
  | { readonly kind: 'no_gain' }
  | { readonly kind: 'infeasible' }
  | { readonly kind: 'failed'; readonly code: string };

/** Decides whether a compaction pass with this end restarts the counts of `turnThreshold` and `messageThreshold`. */
export function isCounted(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return kind !== 'no_reason' && kind !== 'thinking';
}

/**
 * Decides whether the context has its final size after a compaction pass with this end, so that another pass would not
 * change it. Only then may a turn that waits for compaction continue (invariant I13). Must match `SETTLES_SIZE` in
 * lua/shared/pass-end.lua.
 */
export function settlesSize(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return ['committed', 'approved', 'none', 'no_gain', 'infeasible'].includes(kind);
}

/** Times and limits of compaction passes. Times are in ms. */
export const PASS_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Number of claims by workers before the first plan is stored, and again after it. The last claim commits with the
   * summaries that are ready. One more claim fails the compaction pass.
   */
  maxAttempts: 3,
  /** While a compaction pass waits for its summarization jobs, only its own queue job may claim it for this long. */
  parkMs: 60_000,
  /** Number of compaction passes in a row without enough gain that start a backoff. */
  backoffPasses: 3,
  /** A backoff ends when the context has grown by this factor. */
  backoffGrowth: 1.15,
  summaryTtlMs: 604_800_000,
  refusalTtlMs: 86_400_000,
  summaryClaimMs: 8_000,
  /** Maximum depth of merged summaries: a summary of summaries is allowed, but no level above that. */
  maxSummaryDepth: 2,
  keepVersions: 200,
} as const;

export const REASONS = [
  'token_threshold',
  'ratio',
  'turn_threshold',
  'message_threshold',
  'turn_end',
  'hard_limit',
  'overflow',
  'manual',
] as const;

/** Why a pass is requested. */
export type Reason = (typeof REASONS)[number];

const TOKEN_REASONS: ReadonlySet<Reason> = new Set(['token_threshold', 'ratio', 'hard_limit', 'overflow', 'manual']);
const HARD_REASONS: ReadonlySet<Reason> = new Set(['hard_limit', 'overflow', 'manual']);

/** Decides whether `maxTokens` is a target. It is one only with a token reason. */
export function hasTokenReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => TOKEN_REASONS.has(reason));
}

/** Decides whether the budget overrides the retention window. Only a hard reason does that. */
export function hasHardReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => HARD_REASONS.has(reason));
}
