/** How a pass ended. */
export type PassOutcome =
  | {
      readonly kind: 'committed';
      /** number of the version */
      readonly version: number;
    }
  /** committed, after somebody approved of what it proposed */
  | {
      readonly kind: 'approved';
      /** number of the version */
      readonly version: number;
    }
  /** somebody did not approve of it; nobody said anything in time */
  | {
      /** somebody said no, or nobody decided in time */
      readonly kind: 'rejected' | 'expired';
    }
  /** an evaluation on fresh state found no reason */
  | { readonly kind: 'no_reason' }
  /** it was soft, and a model is thinking over the context: it comes again when that has ended */
  | { readonly kind: 'thinking' }
  /** there is a reason, and nothing to do about it */
  | { readonly kind: 'none' }
  /** what it would have gained is not worth a version */
  | { readonly kind: 'no_gain' }
  | { readonly kind: 'infeasible' }
  | {
      readonly kind: 'failed';
      /** why */
      readonly code: string;
    };

/** Whether there was a pass, so that turns and messages count from its end on. */
export function isCounted(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return kind !== 'no_reason' && kind !== 'thinking';
}

/**
 * Whether a pass that ended so leaves the context at a size that no other pass would change now. Only such an end fulfils the
 * wait of a turn (I13). `SETTLES_SIZE` in lua/shared/pass-end.lua is the same list.
 */
export function settlesSize(kind: PassOutcome['kind'] | 'superseded'): boolean {
  return ['committed', 'approved', 'none', 'no_gain', 'infeasible'].includes(kind);
}

/** Times and budgets of passes. All times in ms. */
export const PASS_LIMITS = {
  leaseMs: 8_000,
  heartbeatMs: 2_000,
  /** attempts until there is a plan, and from there on; the last settles with what is there, one more ends the pass as failed */
  maxAttempts: 3,
  /** how long a pass that waits for its children is left alone */
  parkMs: 60_000,
  /** passes without gain in a row that open the breaker */
  backoffPasses: 3,
  /** growth that closes it */
  backoffGrowth: 1.15,
  summaryTtlMs: 604_800_000,
  refusalTtlMs: 86_400_000,
  summaryClaimMs: 8_000,
  /** a summary may be made from one that was made from the log, and none from that */
  maxSummaryDepth: 2,
  keepVersions: 200,
} as const;
