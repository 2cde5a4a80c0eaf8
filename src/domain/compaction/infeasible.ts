import { z } from 'zod';
import { type Limits, scaleTokens } from '../limits.ts';
import { type RequestOverhead, upperBoundTokens } from '../size.ts';
import type { Cut } from './eviction.ts';
import type { Layout, Protection } from './layout.ts';
import { requestTokens } from './request-size.ts';

const tokens = z.number().int().nonnegative();

/**
 * Why no context of at most `max` tokens exists: what stays when everything removable is gone, each part as upper bound. The
 * parts add up to the size of that request, which is above `max`.
 */
export const budgetInfeasibleSchema = z.object({
  /** system, tools and framing */
  fixed: tokens,
  pinned: tokens,
  /** open rounds and the last user message */
  open: tokens,
  /** the retention window and the first user message, where they could not yield */
  floor: tokens,
  max: tokens,
});

export type BudgetInfeasible = z.infer<typeof budgetInfeasibleSchema>;

/** @param cut all that may be removed */
export function explainInfeasible(
  { limits, overhead }: { readonly limits: Limits; readonly overhead: RequestOverhead },
  layout: Layout,
  cut: Cut,
): BudgetInfeasible {
  const left = (...kinds: readonly Protection[]): number =>
    layout.groupTokens.reduce((sum, weight, group) => {
      const protection = layout.protections[group];
      const counts = !cut.groups.has(group) && protection !== undefined && kinds.includes(protection);
      return counts ? sum + weight : sum;
    }, 0);
  const bound = (sum: number): number => Math.floor(scaleTokens(sum, overhead.calibration * limits.upperBoundFactor));
  const [system, pins] = [left('system'), left('pin')];
  const [live, retained] = [left('open_round', 'last_user'), left('retention', 'first_user')];
  const mean = requestTokens({ overhead }, system + pins + live + retained);
  const parts = { pinned: bound(pins), open: bound(live), floor: bound(retained) };
  // The rest, so that rounding cannot make the sum another than the size it explains.
  const fixed = upperBoundTokens(mean, limits.upperBoundFactor) - parts.pinned - parts.open - parts.floor;
  return { fixed, ...parts, max: limits.maxTokens ?? 0 };
}
