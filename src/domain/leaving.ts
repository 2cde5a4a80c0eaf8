export const LEAVE_CAUSES = ['refused', 'too_large', 'rolled_back'] as const;
/**
 * Why the messages of a turn left the context. `refused`: a provider refused what they say or hold. `too_large`: they
 * alone exceed the window. `rolled_back`: the turn was canceled with `onBusy: 'rollback'`.
 */
export type LeaveCause = (typeof LEAVE_CAUSES)[number];

/** From this seq to the last one of the turn. */
export interface Leaving {
  readonly from: number;
  readonly why: LeaveCause;
}
