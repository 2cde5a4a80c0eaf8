import type { Line } from './blocks.ts';

/**
 * Form of the records that a text repeats, such as sections of an INI file, stanzas of a report, or e-mails. It shows
 * where the next record begins.
 */
export interface RecordForm {
  /** Shape of the first line of each record. */
  readonly head: string;
  /** Shapes of the lines that most records have. */
  readonly shapes: ReadonlySet<string>;
  /** A line behind the first one names the record. */
  readonly isNamedLater: boolean;
}

const MAX_LINES = 200;
/** Lines that may stand before the first record. */
const MAX_PREAMBLE = 4;
/** Two records are enough if their first lines have numbers. */
const MIN_RECORDS = 3;
/** Share of the lines behind the heads whose shape recurs. Other texts repeat their first words by chance. */
const MIN_RECURRENT = 0.7;
const MAX_CODE = 0.25;
/** Share of records without further lines, such as the names of columns. */
const MAX_EMPTY = 0.2;
const MAX_CHARS = 200;
const CODE_ENDS: ReadonlySet<string> = new Set(';{}([\\');
const CODE_START = /^\s*(?:import|export|const|let|var|function|class|def|return|if|for|while)\b/;

function isCode(text: string): boolean {
  return CODE_START.test(text) || CODE_ENDS.has(text.trimEnd().at(-1) ?? '');
}

/** @param lines first lines, none of them blank */
export function findRecordForm(lines: readonly Line[]): RecordForm | undefined {
  const texts = lines.slice(0, MAX_LINES).map(({ text }) => text.slice(0, MAX_CHARS));
  if (texts.filter(isCode).length > MAX_CODE * texts.length) return undefined;
  const shapes = texts.map(shapeOfLine);
  for (let at = 0; at < Math.min(MAX_PREAMBLE, texts.length); at += 1) {
    const form = readForm(texts, shapes, at);
    if (form !== undefined) return form;
  }
  return undefined;
}

function readForm(texts: readonly string[], shapes: readonly string[], first: number): RecordForm | undefined {
  const head = shapes[first] as string;
  const starts = [...shapes.keys()].filter((at) => shapes[at] === head);
  if (starts.length < (starts.every((at) => /\p{N}/u.test(texts[at] as string)) ? 2 : MIN_RECORDS)) return undefined;
  const records = starts.map((start, index) => ({ start, end: starts[index + 1] ?? shapes.length }));
  // The last record may be cut off, or have a text behind it.
  const whole = records.slice(0, -1);
  if (whole.filter(({ start, end }) => end === start + 1).length > MAX_EMPTY * whole.length) return undefined;
  const counts = new Map<string, number>();
  for (const { start, end } of whole) {
    for (const shape of new Set(shapes.slice(start + 1, end))) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  }
  const recurrent = new Set([...counts].filter(([, count]) => count > whole.length / 2).map(([shape]) => shape));
  const body = whole.flatMap(({ start, end }) => shapes.slice(start + 1, end));
  if (body.filter((shape) => recurrent.has(shape)).length < MIN_RECURRENT * body.length) return undefined;
  const isNamed = records.every(({ start }) => IDENTIFIER.test(texts[start] as string));
  const isFrame = new Set(starts.map((at) => texts[at])).size < starts.length;
  const isNamedLater =
    !isNamed && (isFrame || records.every(({ start, end }) => nameOf(texts, start, end) !== undefined));
  return { head, shapes: recurrent, isNamedLater };
}

/** Lines behind the first one that may name the record. */
const MAX_NAME_LINES = 3;

function nameOf(texts: readonly string[], start: number, end: number): string | undefined {
  return texts.slice(start + 1, Math.min(end, start + 1 + MAX_NAME_LINES)).find(isName);
}

/** A name such as `INV-8700` has letters and digits. A time is no name. */
export function isName(text: string): boolean {
  return IDENTIFIER.test(text.slice(0, MAX_CHARS));
}

const IDENTIFIER =
  /(?<![\p{L}\p{N}_.-]|\p{N}:)(?!\d{4}-\d\d-\d\d)(?=[\p{N}_-]*\p{L})(?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]{2,}/u;

const INDENT = /^(?:[\s│├└─|+>]|[-*•](?= ))*/u;
const TAG = /^<\/?[\w:-]+/;
const KEY = /^["'`*]{0,3}[\p{L}_][\p{L}\p{N}_. -]{0,40}?["'`*]{0,3}\s*(?:[:=|]|->|=>)/u;

/** Lines that say the same of different records share indentation, and the key or the first word. */
export function shapeOfLine(text: string): string {
  const [indent = ''] = INDENT.exec(text.slice(0, MAX_CHARS)) ?? [];
  const rest = text.slice(indent.length, MAX_CHARS);
  const [start = ''] = TAG.exec(rest) ?? KEY.exec(rest) ?? /^\S*/.exec(rest) ?? [];
  const named = start.replaceAll(/\p{N}+/gu, '0');
  const isWord = /^\p{L}+$/u.test(start) || TAG.test(start) || KEY.test(start);
  return `${indent.length} ${isWord ? named : named.replaceAll(/\p{L}+/gu, 'a').replaceAll(/(.)\1+/gu, '$1')}`;
}
