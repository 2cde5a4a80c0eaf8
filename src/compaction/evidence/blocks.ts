import type { TextRecord } from './records.ts';

export interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly next: number;
}

/**
 * - `rows`: a table. Its first line names the columns.
 * - `pairs`: lines of `key: value`, perhaps indented under others, as in YAML.
 * - `prose`: sentences over several lines.
 * - `text`: a paragraph in one line, or a list.
 * - `listing`: anything else, such as code and logs. Each line is independent.
 */
export type BlockKind = 'rows' | 'pairs' | 'prose' | 'text' | 'listing';

const HEADING = /^#{2,6} \S|^\*\*[^*]{1,80}\*\*:?\s*$/;
/** Line that is a heading or, as in many programming languages, a comment. */
const TOP_HEADING = /^# \S/;

export function isHeading({ text }: Line, next: Line): boolean {
  return HEADING.test(text) || (TOP_HEADING.test(text) && next.text.trim() === '');
}

/** Decides what kind of block a text is. @param lines first lines of a block, without blank lines */
export function decideKind(lines: readonly Line[]): BlockKind {
  const texts = lines.map(({ text }) => text);
  if (areRows(texts)) return 'rows';
  if (arePairs(texts)) return 'pairs';
  if (texts.length > 1) return isProse(texts) ? 'prose' : texts.every((text) => BULLET.test(text)) ? 'text' : 'listing';
  return 'text';
}

const COLUMN = /^["'`*]{0,3}[\p{L}_#][\p{L}\p{N}_ .()/%#$-]{0,40}["'`*]{0,3}$/u;
const SEPARATORS = ['\t', '|', ',', ';'];
/** Names of columns as printed by `ps`, `kubectl get` and similar commands. */
const CAPITALS = /^[A-Z][A-Z0-9%_()/-]*(?: [A-Z0-9%_()/-]+)?$/;

function areRows(lines: readonly string[]): boolean {
  const [header = '', ...rows] = lines;
  if (rows.length === 0) return false;
  const columns = header.trim().split(/\s{2,}/);
  if (columns.length > 2 && columns.every((column) => CAPITALS.test(column))) return true;
  return SEPARATORS.some((separator) => {
    const names = cellsOf(header, separator).filter((cell) => cell !== '');
    if (names.length < (separator === ',' || separator === ';' ? 3 : 2) || !names.every((name) => COLUMN.test(name)))
      return false;
    const size = cellsOf(header, separator).length;
    return rows.slice(0, 4).every((row) => RULE.test(row) || cellsOf(row, separator).length === size);
  });
}

/** Line between the header of a table and its rows, such as `---+---`. */
const RULE = /^[\s|+:=-]+$/;
const QUOTED = /"(?:[^"]|"")*"/g;

function cellsOf(row: string, separator: string): string[] {
  return row
    .replace(QUOTED, (quoted) => quoted.replaceAll(separator, ' '))
    .split(separator)
    .map((cell) => cell.trim());
}

export function isListItem(text: string): boolean {
  return BULLET.test(text);
}

const BULLET = /^\s*(?:[-*•+]|\d{1,3}[.)])\s+\S/;
const PAIR =
  /^\s*(?:[-*•+]\s+)?["'`*]{0,3}([\p{L}_][\p{L}\p{N}_.()/-]{0,40}(?: [\p{L}\p{N}_.()/#-]{1,30}){0,3})["'`*]{0,3}\s?(?:[:：](?![:/])|=(?=\s?[^=>\s(][^(]*$))/u;
/** End of a line of code. Such a line is no pair, although it may look like `key: value`. */
const CODE_END = /[;,{([\\]\s*$|\)\s*:\s*$/;
const MIN_PAIRS = 0.7;

function arePairs(lines: readonly string[]): boolean {
  const pairs = lines.filter((line) => keyOfPair(line) !== undefined).length;
  return lines.length > 1 && pairs >= 2 && pairs >= lines.length * MIN_PAIRS;
}

function keyOfPair(line: string): string | undefined {
  return CODE_END.test(line) ? undefined : PAIR.exec(line)?.[1];
}

const PROSE_START = /^[\p{L}"“¿¡(]/u;
const CODE = /[{}<>=;\\|$#@`\]]/g;
const MIN_LINE_CHARS = 30;
const MAX_PROSE_CODE = 0.02;

function isProse(lines: readonly string[]): boolean {
  const text = lines.join(' ');
  if (text.length < lines.length * MIN_LINE_CHARS || !/[.!?。！？]/.test(text)) return false;
  if (!lines.every((line) => PROSE_START.test(line) && /[\p{L}\p{N}][.,!?:。，！？)"”]*$/u.test(line))) return false;
  return (text.match(CODE)?.length ?? 0) <= text.length * MAX_PROSE_CODE;
}

interface OpenPair {
  readonly indent: number;
  readonly record: TextRecord;
}

/** Finds the owner of each line of pairs: the nearest line above with less indentation, or else the first line. */
export class PairOwners {
  #open: OpenPair[] = [];
  #firstKey: string | undefined;

  place(text: string, add: (owner: TextRecord | undefined, depth: number) => TextRecord | undefined): void {
    const indent = text.search(/\S/) + Number(BULLET.test(text));
    const key = keyOfPair(text);
    // A pair indented like the first pair is part of the same block, unless it repeats the first key or has no value.
    const isBesideFirst = key !== undefined && key !== this.#firstKey && !/:\s*$/.test(text);
    const owner = this.#close(indent, isBesideFirst);
    if (owner === undefined) this.#firstKey = key;
    const record = add(owner?.record, this.#open.length);
    if (record !== undefined && indent > (owner?.indent ?? -1)) this.#open.push({ indent, record });
  }

  #close(indent: number, isBesideFirst: boolean): OpenPair | undefined {
    for (let last = this.#open.at(-1); last !== undefined && last.indent >= indent; last = this.#open.at(-1)) {
      if (this.#open.length === 1 && last.indent === indent && isBesideFirst) break;
      this.#open.pop();
    }
    return this.#open.at(-1);
  }
}

/** Form that the records of a text repeat, such as sections of an INI file. It shows where a record begins. */
export interface RecordForm {
  /** Shape of the first line of each record. */
  readonly head: string;
  readonly shapes: ReadonlySet<string>;
  readonly isNamedLater: boolean;
}

export const FORM_LINES = 200;
const MAX_PREAMBLE = 4;
/** Minimum number of records. Two are enough if their first lines have numbers, or open an element of HTML or XML. */
const MIN_RECORDS = 3;
const BEGINS_RECORD = /\p{N}|^\s*<[\w:-]+(?:\s[^<>]*)?>\s*$/u;
/**
 * Minimum share of lines after first lines whose shape is in most records. Other texts repeat first lines by chance.
 */
const MIN_RECURRENT = 0.7;
const MAX_CODE_LINES = 0.25;
/** Maximum share of records that have only a first line, as the names of columns seem to be. */
const MAX_EMPTY = 0.2;
const MAX_CHARS = 200;
const CODE_ENDS: ReadonlySet<string> = new Set(';{}([\\');
const CODE_START = /^\s*(?:import|export|const|let|var|function|class|def|return|if|for|while)\b/;

function isCode(text: string): boolean {
  return CODE_START.test(text) || CODE_ENDS.has(text.trimEnd().at(-1) ?? '');
}

/** Finds the form of the records. @param lines first lines of the text, without blank lines */
export function findRecordForm(lines: readonly Line[]): RecordForm | undefined {
  const texts = lines.map(({ text }) => text.slice(0, MAX_CHARS));
  if (texts.filter(isCode).length > MAX_CODE_LINES * texts.length) return undefined;
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
  const least = starts.every((at) => BEGINS_RECORD.test(texts[at] as string)) ? 2 : MIN_RECORDS;
  if (starts.length < least) return undefined;
  const records = starts.map((start, index) => ({ start, end: starts[index + 1] ?? shapes.length }));
  // The last record may be cut off, or another text may follow it.
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

const MAX_NAME_LINES = 3;

function nameOf(texts: readonly string[], start: number, end: number): string | undefined {
  return texts.slice(start + 1, Math.min(end, start + 1 + MAX_NAME_LINES)).find(isName);
}

/** True for a name such as `INV-8700`, which has letters and digits. A time is no name. */
export function isName(text: string): boolean {
  return IDENTIFIER.test(text.slice(0, MAX_CHARS));
}

const IDENTIFIER =
  /(?<![\p{L}\p{N}_.-]|\p{N}:)(?!\d{4}-\d\d-\d\d)(?=[\p{N}_-]*\p{L})(?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]{2,}/u;

const INDENT = /^(?:[\s│├└─|+>]|[-*•](?= ))*/u;
const TAG = /^<\/?[\w:-]+/;
const KEY = /^["'`*]{0,3}[\p{L}_][\p{L}\p{N}_. -]{0,40}?["'`*]{0,3}\s*(?:[:=|]|->|=>)/u;

/** Shape of a line: its indentation, and its key or first word. A field has the same shape in all records. */
export function shapeOfLine(text: string): string {
  const [indent = ''] = INDENT.exec(text.slice(0, MAX_CHARS)) ?? [];
  const rest = text.slice(indent.length, MAX_CHARS);
  const [start = ''] = TAG.exec(rest) ?? KEY.exec(rest) ?? /^\S*/.exec(rest) ?? [];
  const named = start.replaceAll(/\p{N}+/gu, '0');
  const isWord = /^\p{L}+$/u.test(start) || TAG.test(start) || KEY.test(start);
  return `${indent.length} ${isWord ? named : named.replaceAll(/\p{L}+/gu, 'a').replaceAll(/(.)\1+/gu, '$1')}`;
}
