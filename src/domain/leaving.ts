export const LEAVE_CAUSES = ['refused', 'too_large', 'rolled_back'] as const;
/** `refused`: a provider refused what the messages say or hold. `too_large`: they alone exceed the window. */
export type LeaveCause = (typeof LEAVE_CAUSES)[number];

/** From this seq to the last one of the turn. */
export interface Leaving {
  readonly from: number;
  readonly why: LeaveCause;
}
