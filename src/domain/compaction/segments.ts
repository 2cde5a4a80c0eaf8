import type { ContextItem } from '../context.ts';
import { addWeights, NO_WEIGHT } from '../message.ts';
import type { ItemSegment, Segment, SeqRange, Version } from '../version.ts';
import { isMaskable } from './mask.ts';

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
  const kind = kindOf(item);
  if (kind === 'whole') segments.push(item.segment as ItemSegment);
  else if (last !== undefined && joins(last, kind)) {
    // Its neighbour: behind a gap the last segment would be an evicted one.
    segments[segments.length - 1] = { ...last, to: item.to, weight: addWeights(last.weight, item) };
  } else {
    const { from, to, tokens, bytes } = item;
    segments.push({ kind: kind === 'masked' ? 'masked' : 'raw', from, to, weight: { tokens, bytes } });
  }
}

/** `any`: masked or not, it looks the same, so that stretches of masked rounds are one segment. */
function kindOf(item: ContextItem): 'whole' | 'masked' | 'raw' | 'any' {
  if (item.segment?.kind === 'masked') return 'masked';
  if (item.segment !== undefined) return 'whole';
  return isMaskable(item) ? 'raw' : 'any';
}

function joins({ kind }: Segment, item: 'masked' | 'raw' | 'any'): boolean {
  return kind === item || (item === 'any' && (kind === 'raw' || kind === 'masked'));
}

/** What stands in a range, without weights: raw and evicted stretches cut to the range, summaries whole. */
export function describeRange(version: Version, range: SeqRange): string[] {
  const tail: Segment = { kind: 'raw', from: version.base + 1, to: Number.MAX_SAFE_INTEGER, weight: NO_WEIGHT };
  const joined: { kind: string; from: number; to: number; text: string }[] = [];
  const { segments } = version;
  for (let at = findFirst(segments, range.from); at <= segments.length; at += 1) {
    const segment = segments[at] ?? tail;
    if (segment.from > range.to) break;
    if (segment.to < range.from) continue;
    const text = nameSegment(segment);
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

/** Index of the first segment that ends at a seq or behind it, by halving: a plan may have 10,000 ranges to describe. */
function findFirst(segments: readonly Segment[], seq: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle] as Segment).to < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a segment shows that is not cut to a range: the key of a summary's text, how much a clip keeps. '' for others. */
export function nameSegment(segment: Segment): string {
  if (segment.kind === 'summary') return segment.text;
  return segment.kind === 'clipped' ? `keeps ${segment.keepChars}` : '';
}
