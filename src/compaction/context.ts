import type { ContextSource } from '../domain/context-source.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { forEachInSlices, type Interruptible, runToEnd } from '../domain/interruptible.ts';
import type { LogEntry, Message, Weight } from '../domain/message.ts';
import type {
  ClippedSegment,
  ContextItem,
  ExcerptSegment,
  MaskedSegment,
  Summary,
  SummarySegment,
  Version,
} from '../domain/version.ts';
import { clipMessage } from './clip.ts';
import { excerptMessage } from './excerpt.ts';
import { maskedItem } from './mask.ts';

/** Messages for the next model request, without the agent's system prompt and tools. */
export interface Context {
  readonly version: Version;
  readonly head: number;
  readonly items: readonly ContextItem[];
  readonly inputs?: readonly number[];
}

const ITEMS_A_SLICE = 1_024;

/** Builds the context of a version. The same source always gives the same bytes (invariant I15). */
export function buildContext(source: ContextSource): Context {
  return runToEnd(buildInSlices(source));
}

export function* buildInSlices({ version, head, entries, summaries, inputs }: ContextSource): Interruptible<Context> {
  const log = new Map<number, LogEntry>();
  yield* forEachInSlices(entries, (entry) => log.set(entry.seq, entry));
  const items: ContextItem[] = [];
  const tail = { kind: 'raw' as const, from: version.base + 1, to: head };
  for (const segment of [...version.segments, tail]) {
    if (segment.kind === 'evicted') continue;
    if (segment.kind === 'summary') {
      items.push(summaryItem(segment, summaries.get(segment.summaryKey)));
      continue;
    }
    for (let seq = segment.from; seq <= segment.to; seq += 1) {
      items.push(logItem(readEntry(log, seq), segment));
      if (items.length % ITEMS_A_SLICE === 0) yield;
    }
  }
  return { version, head, items, ...(inputs && { inputs }) };
}

function logItem(
  entry: LogEntry,
  segment: ClippedSegment | ExcerptSegment | MaskedSegment | { readonly kind: 'raw' },
): ContextItem {
  switch (segment.kind) {
    case 'raw':
      return itemOf(entry);
    case 'masked':
      return maskedItem(entry, entry.seq, segment.note === undefined ? undefined : { ...segment, note: segment.note });
    case 'clipped':
      return clippedItem(entry, segment);
    case 'excerpt':
      return excerptedItem(entry, segment);
  }
}

/** Context of the whole log without compaction, for plans offline. */
export function contextOfLog(entries: readonly LogEntry[], version: Version): Context {
  return buildContext({ version, head: entries.at(-1)?.seq ?? 0, entries, summaries: new Map() });
}

export function contextMessages({ items }: Pick<Context, 'items'>): Message[] {
  return items.map(({ message }) => message);
}

export function weighItems(items: readonly Weight[]): Weight {
  // The sums need no object for each item, because plans weigh 10,000 items several times.
  let [tokens, bytes] = [0, 0];
  for (const item of items) {
    tokens += item.tokens;
    bytes += item.bytes;
  }
  return { tokens, bytes };
}

function readEntry(log: ReadonlyMap<number, LogEntry>, seq: number): LogEntry {
  const entry = log.get(seq);
  if (entry === undefined)
    throw new TurnfoldError('not_found', `the log of the conversation has no entry ${seq}`, { details: { seq } });
  return entry;
}

function itemOf({ seq, message, tokens, bytes }: LogEntry): ContextItem {
  return { from: seq, to: seq, message, tokens, bytes };
}

function clippedItem({ seq, message }: LogEntry, segment: ClippedSegment): ContextItem {
  const clipped = clipMessage(message, segment.keepChars, seq);
  return { from: seq, to: seq, message: clipped, ...segment.weight, segment, logged: message };
}

function excerptedItem({ seq, message }: LogEntry, segment: ExcerptSegment): ContextItem {
  const excerpt = excerptMessage(message, segment.kept, seq);
  return { from: seq, to: seq, message: excerpt, ...segment.weight, segment, logged: message };
}

function summaryItem(segment: SummarySegment, summary: Summary | undefined): ContextItem {
  if (summary === undefined) {
    throw new TurnfoldError(
      'not_found',
      `the text of the summary of messages ${segment.from}…${segment.to} does not exist`,
    );
  }
  const { from, to, version } = segment;
  const { text, raw } = summary;
  const label = { from, to, version };
  const message: Message = {
    role: 'summary',
    content: text,
    summary: label,
    ...(raw === undefined ? {} : { raw }),
  };
  return { from, to, message, ...segment.weight, segment };
}
