import type { SeqRange } from './version.ts';

/** Joins each range with the one before it, if it begins directly behind that one. */
export function joinRanges(ranges: Iterable<SeqRange>): SeqRange[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (last?.to === from - 1) last.to = to;
    else joined.push({ from, to });
  }
  return joined;
}

/**
 * Returns what is left of a range without the other ranges.
 * @param others in any order
 * @returns ranges in ascending order
 */
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

/**
 * Both stores refuse the same ranges, so a test on either store finds a caller that reads before the first message.
 * @throws RangeError for a range that begins before message 1
 */
export function checkRanges(ranges: readonly SeqRange[]): void {
  const wrong = ranges.find(({ from }) => from < 1);
  if (wrong !== undefined) throw new RangeError(`ranges[].from: must be 1 or more, but is ${wrong.from}`);
}
