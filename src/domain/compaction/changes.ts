import type { ContextItem } from '../context.ts';
import type { SeqRange } from '../version.ts';

/** Ranges that a plan changes without a summary. */
export interface PlannedChanges {
  readonly evict: SeqRange[];
  readonly shorten?: SeqRange[];
}

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
