import { z } from 'zod';
import { weighItems } from '../context.ts';
import { type Limits, scaleTokens } from '../limits.ts';
import { type RequestOverhead, upperBoundTokens } from '../size.ts';
import type { Layout, Protection } from './layout.ts';
import { requestTokens } from './request-size.ts';

const tokens = z.number().int().nonnegative();

/**
 * Proof that no context fits into `max` tokens. It lists the parts that stay after everything removable is gone, each
 * as an upper bound. Their sum is the size of that request. Either the sum exceeds `max`, or the bytes exceed their
 * limit (I14).
 */
export const budgetInfeasibleSchema = z.object({
  /** System prompt, tools and framing. */
  fixed: tokens,
  /** Pinned texts of the policy and pinned messages. */
  pinned: tokens,
  /** Open rounds, rounds with a result that the model has not read, and the last user message. */
  open: tokens,
  /** Retention window and first user message, if they could not be removed. */
  floor: tokens,
  max: tokens,
  /** Remaining bytes and their limit, if the bytes exceed it. */
  bytes: z.object({ left: tokens, max: tokens }).optional(),
});

export type BudgetInfeasible = z.infer<typeof budgetInfeasibleSchema>;

/** @param layout the context after everything removable is gone */
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
  // Computed as the rest, so that rounding cannot change the sum.
  const fixed = upperBoundTokens(mean, limits.upperBoundFactor) - parts.pinned - parts.open - parts.floor;
  const left = weighItems(layout.items).bytes + overhead.bytes;
  const { maxBytes, maxTokens = 0 } = limits;
  const bytes = maxBytes === undefined || left <= maxBytes ? {} : { bytes: { left, max: maxBytes } };
  return { fixed, ...parts, max: maxTokens, ...bytes };
}
