import { addWeights, NO_WEIGHT } from '../domain/message.ts';
import { findFirst } from '../domain/seq-ranges.ts';
import type { ContextItem, ItemSegment, Segment, SeqRange, Version } from '../domain/version.ts';
import { hasPictures, isMaskable } from './mask.ts';

/** Segments over seqs 1…head. Seqs without an item are evicted. Adjacent segments of one kind are joined. */
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
    // The items are adjacent. After a gap, the last segment would be an evicted one.
    segments[segments.length - 1] = { ...last, to: item.to, weight: addWeights(last.weight, item) };
  } else {
    const { from, to, tokens, bytes } = item;
    segments.push({ kind: kind === 'masked' ? 'masked' : 'raw', from, to, weight: { tokens, bytes } });
  }
}

/** `any`: masking would not change the item, so it joins raw and masked segments. */
function kindOf(item: ContextItem): 'whole' | 'masked' | 'raw' | 'any' {
  if (item.segment?.kind === 'masked') return item.segment.note === undefined ? 'masked' : 'whole';
  if (item.segment !== undefined) return 'whole';
  return isMaskable(item) || hasPictures(item.message) ? 'raw' : 'any';
}

function joins(segment: Segment, item: 'masked' | 'raw' | 'any'): boolean {
  const { kind } = segment;
  if (kind === 'masked' && segment.note !== undefined) return false;
  return kind === item || (item === 'any' && (kind === 'raw' || kind === 'masked'));
}

/** Describes how a version shows a range. Raw and evicted stretches are cut to the range, summaries are not. */
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
    // A version may show a stretch as one raw segment, another as a raw segment and unchanged messages after its base.
    if (!isWhole && last?.kind === segment.kind && last.text === '') last.to = to;
    else joined.push({ kind: segment.kind, from, to, text });
  }
  return joined.map(({ kind, from, to, text }) => `${kind} ${from}-${to} ${text}`);
}

/** Key of a summary, note of a mask, length of a clip, or ranges of an excerpt. '' for other segments. */
export function nameSegment(segment: Segment): string {
  if (segment.kind === 'summary') return segment.summaryKey;
  if (segment.kind === 'masked') return segment.note ?? '';
  if (segment.kind === 'excerpt') return `keeps ${segment.kept.join(' ')}`;
  return segment.kind === 'clipped' ? `keeps ${segment.keepChars}` : '';
}
