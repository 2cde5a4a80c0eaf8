import type { Message } from '../domain/message.ts';
import type { KeptRange } from '../domain/version.ts';
import { countShownLines } from './evidence/alike-lines.ts';
import { readRecords } from './evidence/read-records.ts';
import { GAP, writeLines } from './evidence/record-lines.ts';
import type { TextRecord } from './evidence/records.ts';
import { showTerminal } from './evidence/terminal-text.ts';

const BASE_RANGES = 32;
const CHARS_A_RANGE = 512;

/** Maximum number of ranges kept of a text, which bounds the size of a version: a range takes about 12 bytes. */
export function mostRanges(chars: number): number {
  return BASE_RANGES + Math.floor(chars / CHARS_A_RANGE);
}

/**
 * Keeps ranges of a text. `…` marks missing text, and records of JSON are decoded. The same ranges give the same text
 * (I15). Ranges that do not fit the text are corrected, because a stored version must always be readable.
 */
export function excerptMessage(message: Message, kept: readonly KeptRange[], seq: number): Message {
  const { raw: _raw, parts: _parts, ...others } = message;
  const lines = writeJson(message.content, kept) ?? writeRanges(message, kept);
  return { ...others, content: [`[excerpt of message ${seq}]`, ...lines].join('\n') };
}

function writeRanges({ role, content: text }: Message, kept: readonly KeptRange[]): string[] {
  const lines: string[] = [];
  let end = 0;
  for (const [start, to] of kept) {
    const part = showTerminal(text.slice(wholeFrom(text, start), wholeFrom(text, to)));
    if (part === '') continue;
    lines.push(start > end ? `${GAP} ${part}` : part);
    end = to;
  }
  const counted =
    role === 'tool'
      ? countShownLines(
          lines.flatMap((line) => line.split('\n')),
          showTerminal(text),
        )
      : lines;
  return end < text.length ? [...counted, GAP] : counted;
}

const JSON_LINE = /^[ \t]*[[{]/m;

/** @returns undefined for a text without JSON to decode, or if a range ends inside a record (older context versions) */
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

function* within(records: readonly TextRecord[], kept: readonly KeptRange[]): Generator<TextRecord> {
  let next = 0;
  for (const record of records) {
    while (next < kept.length && (kept[next] as KeptRange)[1] <= record.start) next += 1;
    const range = kept[next];
    if (range !== undefined && range[0] <= record.start && record.end <= range[1]) yield record;
  }
}

function wholeFrom(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at;
}

export function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
