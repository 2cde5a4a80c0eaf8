import { z } from 'zod';
import { weighItems } from '../context.ts';
import { type Limits, scaleTokens } from '../limits.ts';
import { type RequestOverhead, upperBoundTokens } from '../size.ts';
import type { Layout, Protection } from './layout.ts';
import { requestTokens } from './request-size.ts';

const tokens = z.number().int().nonnegative();

/**
 * Why no context of at most `max` tokens exists: what stays when everything removable is gone, each part as upper bound. The
 * parts add up to the size of that request, which is above `max`, or its bytes are above theirs.
 */
export const budgetInfeasibleSchema = z.object({
  /** system, tools and framing */
  fixed: tokens,
  /** texts of the policy and messages */
  pinned: tokens,
  /** open rounds, those with a result that the model has not read, and the last user message */
  open: tokens,
  /** the retention window and the first user message, where they could not yield */
  floor: tokens,
  max: tokens,
  /** where the request has too many bytes: those that are left, and the most that texts may have */
  bytes: z.object({ left: tokens, max: tokens }).optional(),
});

export type BudgetInfeasible = z.infer<typeof budgetInfeasibleSchema>;

/** @param layout of what is left when all that may go is gone */
export function explainInfeasible(
  { limits, overhead }: { readonly limits: Limits; readonly overhead: RequestOverhead },
  layout: Layout,
): BudgetInfeasible {
  const tokensOf = (...kinds: readonly Protection[]): number =>
    layout.groupWeights.reduce((sum, { tokens: weight }, group) => {
      const protection = layout.protections[group];
      return protection !== undefined && kinds.includes(protection) ? sum + weight : sum;
    }, 0);
  const bound = (sum: number): number => Math.floor(scaleTokens(sum, overhead.calibration * limits.upperBoundFactor));
  const [system, pins] = [tokensOf('system'), tokensOf('pin')];
  const [live, retained] = [tokensOf('open_round', 'unread', 'last_user'), tokensOf('retention', 'first_user')];
  const mean = requestTokens({ overhead }, system + pins + live + retained);
  const parts = { pinned: bound(pins + (overhead.pinTokens ?? 0)), open: bound(live), floor: bound(retained) };
  // The rest, so that rounding cannot make the sum another than the size it explains.
  const fixed = upperBoundTokens(mean, limits.upperBoundFactor) - parts.pinned - parts.open - parts.floor;
  const left = weighItems(layout.items).bytes + overhead.bytes;
  const { maxBytes, maxTokens = 0 } = limits;
  const bytes = maxBytes === undefined || left <= maxBytes ? {} : { bytes: { left, max: maxBytes } };
  return { fixed, ...parts, max: maxTokens, ...bytes };
}
