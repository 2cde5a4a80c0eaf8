export type PassOutcome =
  | { readonly kind: 'committed'; readonly version: number }
  /** A person approved the proposed version. */
  | { readonly kind: 'approved'; readonly version: number }
  | {
      /** `expired`: no decision arrived in time. */
      readonly kind: 'rejected' | 'expired';
    }
  /** When the pass started, the context was below all thresholds again. */
  | { readonly kind: 'no_reason' }
  /** A model is reasoning over this context between tool calls. The end of the turn requests the pass again. */
  | { readonly kind: 'thinking' }
  /** The pass found no message that it may remove. */
  | { readonly kind: 'none' }
  | { readonly kind: 'no_gain' }
  | { readonly kind: 'infeasible' }
  | { readonly kind: 'failed'; readonly code: string };

/** True if the end of the pass restarts the counts of `turnThreshold` and `messageThreshold`. */
export function isCounted(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return kind !== 'no_reason' && kind !== 'thinking';
}

/**
 * True if another pass would not change the size of the context, so that a waiting turn may continue (invariant I13).
 * Must match `SETTLES_SIZE` in lua/shared/pass-end.lua.
 */
export function settlesSize(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return ['committed', 'approved', 'none', 'no_gain', 'infeasible'].includes(kind);
}

export const PASS_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /**
   * Maximum claims before the first plan, and again after it. The last claim commits with the summaries that are ready.
   */
  maxAttempts: 3,
  /** A pass that waits for its summaries can be claimed only by its own queue job for this long. */
  parkMs: 60_000,
  /** Passes in a row without enough gain that start a backoff. */
  backoffPasses: 3,
  /** A backoff ends when the context has grown by this factor. */
  backoffGrowth: 1.15,
  summaryTtlMs: 604_800_000,
  refusalTtlMs: 86_400_000,
  summaryClaimMs: 8_000,
  /** Maximum levels of summaries: a summary of summaries is allowed, but no level above that. */
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

export type Reason = (typeof REASONS)[number];

const TOKEN_REASONS: ReadonlySet<Reason> = new Set(['token_threshold', 'ratio', 'hard_limit', 'overflow', 'manual']);
const HARD_REASONS: ReadonlySet<Reason> = new Set(['hard_limit', 'overflow', 'manual']);

/** `maxTokens` is a target only if the pass has a token reason. */
export function hasTokenReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => TOKEN_REASONS.has(reason));
}

/** The budget overrides the retention window only if the pass has a hard reason. */
export function hasHardReason(reasons: readonly Reason[]): boolean {
  return reasons.some((reason) => HARD_REASONS.has(reason));
}
