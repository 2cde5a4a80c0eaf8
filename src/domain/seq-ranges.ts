import type { SeqRange } from './version.ts';

export function joinRanges(ranges: Iterable<SeqRange>): SeqRange[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (last?.to === from - 1) last.to = to;
    else joined.push({ from, to });
  }
  return joined;
}

/** @param others in any order. @returns the rest of the range, ascending */
export function subtractRanges({ from, to }: SeqRange, others: readonly SeqRange[]): SeqRange[] {
  const left: SeqRange[] = [];
  let next = from;
  for (const other of others.toSorted((a, b) => a.from - b.from)) {
    if (other.from > to) break;
    if (other.from > next) left.push({ from: next, to: other.from - 1 });
    next = Math.max(next, other.to + 1);
  }
  if (next <= to) left.push({ from: next, to });
  return left;
}

/** Finds the first range that ends at or after a seq, by binary search: a plan may have 10,000 ranges. */
export function findFirst(ranges: readonly SeqRange[], seq: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle] as SeqRange).to < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @throws RangeError for a range that begins before message 1 */
export function checkRanges(ranges: readonly SeqRange[]): void {
  const wrong = ranges.find(({ from }) => from < 1);
  if (wrong !== undefined) throw new RangeError(`ranges[].from: must be 1 or more, but is ${wrong.from}`);
}
