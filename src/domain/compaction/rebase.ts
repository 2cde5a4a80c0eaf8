import type { SeqRange, Version } from '../version.ts';
import type { PassPlan } from './plan.ts';
import { describeRange } from './segments.ts';

/**
 * Whether a plan still fits after another version became the live one: every range that it replaces stands there as it
 * stood when the plan was made. Where it does not, the pass plans again.
 */
export function canRebase(plan: PassPlan, planned: Version, live: Version): boolean {
  if (planned.number === live.number) return true;
  if (live.base > plan.head) return false;
  return [...plan.sequences, ...plan.evict].every((range) => isUnchanged(range, planned, live));
}

function isUnchanged(range: SeqRange, planned: Version, live: Version): boolean {
  const before = describeRange(planned, range);
  const now = describeRange(live, range);
  return before.length === now.length && before.every((part, index) => part === now[index]);
}
