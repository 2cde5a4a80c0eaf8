import type { TextRecord } from './records.ts';

export interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly next: number;
}

/**
 * - `rows`: a table. Its first line names the columns
 * - `pairs`: lines of `key: value`, perhaps indented under others, as in YAML
 * - `prose`: sentences over several lines
 * - `text`: a paragraph in one line, or a list
 * - `listing`: anything else, such as code and logs. Each line stands for itself
 */
export type BlockKind = 'rows' | 'pairs' | 'prose' | 'text' | 'listing';

const HEADING = /^#{2,6} \S|^\*\*[^*]{1,80}\*\*:?\s*$/;
/** In many languages, a comment begins so, too. */
const TOP_HEADING = /^# \S/;

export function isHeading({ text }: Line, next: Line): boolean {
  return HEADING.test(text) || (TOP_HEADING.test(text) && next.text.trim() === '');
}

/** @param lines first lines of a block, none of them blank */
export function decideKind(lines: readonly Line[]): BlockKind {
  const texts = lines.map(({ text }) => text);
  if (areRows(texts)) return 'rows';
  if (arePairs(texts)) return 'pairs';
  if (texts.length > 1) return isProse(texts) ? 'prose' : texts.every((text) => BULLET.test(text)) ? 'text' : 'listing';
  return 'text';
}

const COLUMN = /^["'`*]{0,3}[\p{L}_#][\p{L}\p{N}_ .()/%#$-]{0,40}["'`*]{0,3}$/u;
const SEPARATORS = ['\t', '|', ',', ';'];
/** Columns of `ps`, `kubectl get` and the like. */
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

/** The line between the names of columns and the rows. */
const RULE = /^[\s|+:=-]+$/;
/** A quoted cell may hold the separator. */
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
/** Code has pairs, too, but ends its lines so. */
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
const MAX_CODE = 0.02;

function isProse(lines: readonly string[]): boolean {
  const text = lines.join(' ');
  if (text.length < lines.length * MIN_LINE_CHARS || !/[.!?。！？]/.test(text)) return false;
  if (!lines.every((line) => PROSE_START.test(line) && /[\p{L}\p{N}][.,!?:。，！？)"”]*$/u.test(line))) return false;
  return (text.match(CODE)?.length ?? 0) <= text.length * MAX_CODE;
}

interface OpenPair {
  readonly indent: number;
  readonly record: TextRecord;
}

/** A line of pairs belongs to the one above with less indentation, or to the first. */
export class PairOwners {
  #open: OpenPair[] = [];
  #firstKey: string | undefined;

  place(text: string, add: (owner: TextRecord | undefined, depth: number) => TextRecord | undefined): void {
    const indent = text.search(/\S/) + Number(BULLET.test(text));
    const key = keyOfPair(text);
    // A value beside the first one belongs to it, unless it begins as the first one does.
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
