import type { ContextItem } from '../context.ts';
import type { SeqRange, Version } from '../version.ts';
import type { PassPlan } from './plan.ts';
import { describeRange } from './segments.ts';

/** Ranges that a plan changes without a summary. */
type PlannedChanges = Pick<PassPlan, 'evict' | 'shorten'>;

/** Lists the ranges of items that are gone, and of items that are masked or clipped, ascending. Neighbours are joined. */
export function listChanges(before: readonly ContextItem[], after: readonly ContextItem[]): PlannedChanges {
  const left = new Map(after.map((item) => [item.from, item]));
  const evict = joinRanges(before, (item) => !left.has(item.from));
  const shorten = joinRanges(before, (item) => left.has(item.from) && left.get(item.from) !== item);
  return shorten.length === 0 ? { evict } : { evict, shorten };
}

function joinRanges(items: readonly ContextItem[], isListed: (item: ContextItem) => boolean): SeqRange[] {
  const ranges: { from: number; to: number }[] = [];
  let isOpen = false;
  for (const item of items) {
    const isMember = isListed(item);
    const last = ranges.at(-1);
    if (isMember && isOpen && last !== undefined) last.to = item.to;
    else if (isMember) ranges.push({ from: item.from, to: item.to });
    isOpen = isMember;
  }
  return ranges;
}

/**
 * Decides whether a plan still fits after another version became the live one. It fits if the live version shows every
 * planned range as the planned version did. Otherwise the pass plans again. No plan fits after a rollback: the
 * summaries of the plan together may be what the provider refused.
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
