import type { ContextItem, SeqRange } from '../domain/version.ts';

export interface PlannedChanges {
  readonly evict: SeqRange[];
  readonly shorten?: SeqRange[];
}

/** Ranges of items that are gone, and of items that are masked or clipped, ascending. Neighbours are joined. */
export function listChanges(before: readonly ContextItem[], after: readonly ContextItem[]): PlannedChanges {
  let at = 0;
  /** The item of the later context with the same first seq. */
  const left = before.map(({ from }) => {
    while ((after[at]?.from ?? from) < from) at += 1;
    return after[at]?.from === from ? after[at] : undefined;
  });
  const evict = joinRanges(before, (_, position) => left[position] === undefined);
  const shorten = joinRanges(before, (item, position) => left[position] !== undefined && left[position] !== item);
  return shorten.length === 0 ? { evict } : { evict, shorten };
}

function joinRanges(
  items: readonly ContextItem[],
  isListed: (item: ContextItem, position: number) => boolean,
): SeqRange[] {
  const ranges: { from: number; to: number }[] = [];
  let isOpen = false;
  for (const [position, item] of items.entries()) {
    const isMember = isListed(item, position);
    const last = ranges.at(-1);
    if (isMember && isOpen && last !== undefined) last.to = item.to;
    else if (isMember) ranges.push({ from: item.from, to: item.to });
    isOpen = isMember;
  }
  return ranges;
}
