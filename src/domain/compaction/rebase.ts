import type { SeqRange, Version } from '../version.ts';
import type { PassPlan } from './plan.ts';
import { describeRange } from './segments.ts';

/**
 * Whether a plan still fits after another version became the live one: every range that it replaces stands there as it
 * stood when the plan was made. Where it does not, the pass plans again. None fits over a version that was put in place of a
 * refused one: its summaries are a model's, and what they come to together may be what the provider refused.
 */
export function canRebase(plan: PassPlan, planned: Version, live: Version): boolean {
  if (planned.number === live.number) return true;
  if (live.cause === 'rollback' || live.base > plan.head) return false;
  return [...plan.sequences, ...plan.evict].every((range) => isUnchanged(range, planned, live));
}

function isUnchanged(range: SeqRange, planned: Version, live: Version): boolean {
  const before = describeRange(planned, range);
  const now = describeRange(live, range);
  return before.length === now.length && before.every((part, index) => part === now[index]);
}
