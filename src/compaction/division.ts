import type { BudgetDivision } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';

export interface Available {
  readonly users: number;
  /** Tokens that summaries could use, bounded by the size of their sources. */
  readonly summaries: number;
  /** Guaranteed part of `summaries`, because shorter summaries would say too little. */
  readonly minSummaries: number;
  readonly tail: number;
  /** Part of `tail` that a soft pass may not remove: the retention window. */
  readonly floor: number;
}

/**
 * Divides a budget before any part of it is spent.
 * 1. The fixed part is subtracted.
 * 2. The minimum sizes of summaries and the floor come next.
 * 3. Users' words and summaries get their shares of the rest, and the tail gets what remains.
 * 4. Tokens that a part cannot use flow to the tail, then to the summaries, then to the users' words.
 *
 * A part never shrinks when the budget grows.
 */
export function divideBudget(
  { budget, fixed }: { readonly budget: number; readonly fixed: number },
  { budgetShares }: Pick<Policy, 'budgetShares'>,
  available: Available,
): BudgetDivision {
  const room = Math.max(0, budget - fixed);
  const least = Math.min(available.summaries, available.minSummaries, room);
  const floor = Math.min(available.floor, room - least);
  let users = Math.min(available.users, room * budgetShares.users, room - least - floor);
  let summaries = Math.min(available.summaries, Math.max(least, room * budgetShares.summaries), room - floor - users);
  const tail = Math.min(available.tail, room - users - summaries);
  summaries = Math.min(available.summaries, room - users - tail);
  users = Math.min(available.users, room - summaries - tail);
  return {
    budget: toTokens(budget),
    fixed: toTokens(fixed),
    users: toTokens(users),
    summaries: toTokens(summaries),
    tail: toTokens(tail),
  };
}

const ROUNDING = 1e-6;

/** Rounding only at the end keeps every part from shrinking when the budget grows. */
function toTokens(part: number): number {
  return Math.max(0, Math.floor(part + ROUNDING));
}
