import type { Message } from '../domain/message.ts';
import type { KeptRange } from '../domain/version.ts';
import { readRecords } from './evidence/read-records.ts';
import { GAP, writeLines } from './evidence/record-lines.ts';
import type { TextRecord } from './evidence/records.ts';

/** Ranges that an excerpt may have besides those for its length. */
const BASE_RANGES = 32;
/** Characters of the message that permit one more range. */
const CHARS_A_RANGE = 512;

/** Most ranges of an excerpt from a text of this length. It bounds the size of a version: about 12 bytes per range. */
export function mostRanges(chars: number): number {
  return BASE_RANGES + Math.floor(chars / CHARS_A_RANGE);
}

/**
 * Shortens a message to the ranges of its text that stay. `…` marks each place where text is missing, and the first line
 * names the message of the log. Records of JSON are decoded. The same ranges give the same text, so that no version has to
 * store it (I15). Ranges beyond the text and ranges that split a character are corrected, because a stored version must
 * always be readable.
 */
export function excerptMessage(message: Message, kept: readonly KeptRange[], seq: number): Message {
  const { raw: _raw, parts: _parts, ...others } = message;
  const lines = writeJson(message.content, kept) ?? writeRanges(message.content, kept);
  return { ...others, content: [`[excerpt of message ${seq}]`, ...lines].join('\n') };
}

function writeRanges(text: string, kept: readonly KeptRange[]): string[] {
  const lines: string[] = [];
  let end = 0;
  for (const [start, to] of kept) {
    const part = text.slice(wholeFrom(text, start), wholeFrom(text, to));
    if (part === '') continue;
    lines.push(start > end ? `${GAP} ${part}` : part);
    end = to;
  }
  return end < text.length ? [...lines, GAP] : lines;
}

/** A line that may begin JSON. */
const JSON_LINE = /^[ \t]*[[{]/m;

/** @returns undefined for a text without JSON to decode, and for ranges that do not end with records, as those of older versions */
function writeJson(text: string, kept: readonly KeptRange[]): string[] | undefined {
  if (!JSON_LINE.test(text)) return undefined;
  const records = [...readRecords({ part: 'result', text })];
  const isDecoded = records.some((record) => record.field !== undefined || !text.startsWith(record.text, record.start));
  const shown = [...within(records, kept)];
  const ends = new Set(shown.map(({ end }) => end));
  if (!isDecoded || !kept.every(([, to]) => ends.has(to))) return undefined;
  const lines = writeLines(shown).map(({ text: line, isApart }) => (isApart ? `${GAP} ${line}` : line));
  return shown.length < records.length ? [...lines, GAP] : lines;
}

/** The records that lie in one of these ranges. Both are in the order of the text. */
function* within(records: readonly TextRecord[], kept: readonly KeptRange[]): Generator<TextRecord> {
  let next = 0;
  for (const record of records) {
    while (next < kept.length && (kept[next] as KeptRange)[1] <= record.start) next += 1;
    const range = kept[next];
    if (range !== undefined && range[0] <= record.start && record.end <= range[1]) yield record;
  }
}

/** Moves an index inside a surrogate pair to the start of the pair. */
function wholeFrom(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at;
}

/** Checks whether a cut at this index would split a surrogate pair. */
export function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
