import type { PassPlan } from '../domain/pass-plan.ts';
import type { SeqRange, Version } from '../domain/version.ts';
import { describeRange } from './segments.ts';

/**
 * True if a plan still fits the live version. After a rollback no plan fits: the provider may have refused its
 * summaries.
 */
export function canRebase(plan: PassPlan, planned: Version, live: Version): boolean {
  if (planned.number === live.number) return true;
  if (live.cause === 'rollback' || live.base > plan.head) return false;
  const ranges: readonly SeqRange[] = [...plan.sequences, ...plan.evict, ...(plan.shorten ?? [])];
  return ranges.every((range) => isUnchanged(range, planned, live));
}

function isUnchanged(range: SeqRange, planned: Version, live: Version): boolean {
  const before = describeRange(planned, range);
  const now = describeRange(live, range);
  return before.length === now.length && before.every((part, index) => part === now[index]);
}
