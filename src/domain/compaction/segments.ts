import type { ContextItem } from '../context.ts';
import { addWeights, NO_WEIGHT } from '../message.ts';
import type { Segment, SeqRange, Version } from '../version.ts';

/** Segments over seqs 1…head for the items that a context keeps: what no item stands for is evicted. Neighbours of a kind join. */
export function segmentItems(items: readonly ContextItem[], head: number): Segment[] {
  const segments: Segment[] = [];
  let next = 1;
  for (const item of items) {
    if (item.from > next) segments.push({ kind: 'evicted', from: next, to: item.from - 1, weight: NO_WEIGHT });
    pushItem(segments, item);
    next = item.to + 1;
  }
  if (next <= head) segments.push({ kind: 'evicted', from: next, to: head, weight: NO_WEIGHT });
  return segments;
}

function pushItem(segments: Segment[], item: ContextItem): void {
  const last = segments.at(-1);
  if (item.segment !== undefined) {
    segments.push(item.segment);
  } else if (last?.kind === 'raw') {
    // Its neighbour: behind a gap the last segment would be an evicted one.
    segments[segments.length - 1] = { ...last, to: item.to, weight: addWeights(last.weight, item) };
  } else {
    segments.push({ kind: 'raw', from: item.from, to: item.to, weight: { tokens: item.tokens, bytes: item.bytes } });
  }
}

/** What stands in a range, without weights: raw and evicted stretches cut to the range, checkpoints whole. */
export function describeRange(version: Version, range: SeqRange): string[] {
  const tail: Segment = { kind: 'raw', from: version.base + 1, to: Number.MAX_SAFE_INTEGER, weight: NO_WEIGHT };
  const joined: { kind: string; from: number; to: number; text: string }[] = [];
  for (const segment of [...version.segments, tail]) {
    if (segment.to < range.from || segment.from > range.to) continue;
    const text = 'text' in segment ? segment.text : '';
    const isWhole = text !== '';
    const from = isWhole ? segment.from : Math.max(segment.from, range.from);
    const to = isWhole ? segment.to : Math.min(segment.to, range.to);
    const last = joined.at(-1);
    // Where one version ends its raw segment at its base and the other does not, the same stretch must read the same.
    if (!isWhole && last?.kind === segment.kind && last.text === '') last.to = to;
    else joined.push({ kind: segment.kind, from, to, text });
  }
  return joined.map(({ kind, from, to, text }) => `${kind} ${from}-${to} ${text}`);
}
