import { ELLIPSIS } from './text.ts';

/** `count`: a number that nothing names, as in a table or a listing. */
export type LiteralKind = 'path' | 'id' | 'date' | 'number' | 'count';

/** Words of a text that a later call may need again, letter by letter. */
export interface Literal {
  readonly text: string;
  readonly kind: LiteralKind;
}

const MAX_CHARS = 200;

/**
 * URLs, dates with their time, and runs between separators. Each branch is one repeated class behind a fixed start, so that
 * a failed match costs no more than it read: linear in any text.
 */
const WORDS = /https?:\/\/[^\s"'`<>\\)\]}]+|\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?|[^\s"'`,;:()[\]{}<>|=\\*&]+/g;
const OUTER_MARKS = /^[$@!?…-]+(?=[\w/])|(?<![.!?…$+])[.!?…$+]+$/g;
const EXTENSION =
  /\.(?:[cm]?[jt]sx?|jsonl?|mdx?|rst|txt|pyi?|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|pl|lua|swift|sh|sql|ya?ml|toml|ini|cfg|conf|lock|html?|s?css|xml|csv|log|diff|patch|png|jpe?g|gif|svg|pdf|zip|gz|db|ipynb|vue)$/i;
const URL_WORD = /^https?:\/\/[\w.~:/?#@!$%&*+,;=|-]+$/;
const DATE = /^\d{4}[-/]\d\d[-/]\d\d(?:T[\d:.]+Z?)?$/;
const NUMBER = /^[+-]?[\d.,_-]+%?$/;
const ROOTED_PATH = /^(?:~|\.{0,2})\/[\w.@-]/;
const PATH = /^[\w.@~+/#$%-]+$/;
const ID = /^#?[\p{L}\p{N}_.@+#/-]+$/u;
const MEASURE = /^\d[\d.,]*(?:[kmg]?hz|[kmgt]i?b?|[mnµu]?s|px|pts?|r?em|v[hw]|min|x)$/i;
/** What stands before a number that something names. */
const NAMING = /[:=$] ?$/;
const CAPITALS = /^[A-Z]{5,8}$/;

/** The words of a text, without the marks around them, in order; what a cut has touched is left out. */
export function* findWords(text: string): Generator<string> {
  for (const [run] of text.matchAll(WORDS)) {
    const word = readWord(run);
    if (word !== undefined) yield word;
  }
}

/** Every literal of a text, in order, repetitions included. */
export function* findLiterals(text: string): Generator<Literal> {
  let last = Number.NaN;
  for (const { 0: run, index } of text.matchAll(WORDS)) {
    const word = readWord(run);
    const kind = word === undefined ? undefined : classifyAmid(word, text, index + run.indexOf(word));
    if (word === undefined || kind === undefined) continue;
    // One more than the number before: a listing counts its lines.
    const isCounting = kind === 'number' && Number(word) === last + 1;
    if (kind === 'number') last = Number(word);
    yield { text: word, kind: isCounting ? 'count' : kind };
  }
}

/** By the characters around it, too: `"ABCDEF"` is an id, `</title>` no path, `x.ts:12:` and `"price": 152` are named. */
function classifyAmid(word: string, text: string, from: number): LiteralKind | undefined {
  const kind = classifyWord(word);
  const [before, after] = [text[from - 1], text[from + word.length]];
  const isQuoted = before === '"' && after === '"';
  if (kind === undefined) return isQuoted && CAPITALS.test(word) ? 'id' : undefined;
  if (before === '<' && word.startsWith('/')) return undefined;
  if (kind !== 'number' || isQuoted || after === ':') return kind;
  return NAMING.test(text.slice(Math.max(0, from - 2), from)) ? kind : 'count';
}

/** The word of a run between separators; undefined where it is cut, or longer than any literal. */
function readWord(run: string): string | undefined {
  if (run.length > MAX_CHARS) return undefined;
  // As most do: to look is cheaper than to replace.
  if (isAlphanumeric(run.charCodeAt(0)) && isAlphanumeric(run.charCodeAt(run.length - 1))) return run;
  if (run.startsWith(ELLIPSIS) || run.endsWith(ELLIPSIS)) return undefined;
  return run.replace(OUTER_MARKS, '');
}

/** In ASCII. */
function isAlphanumeric(unit: number): boolean {
  const small = unit | 32;
  return (small >= 97 && small <= 122) || (unit >= 48 && unit <= 57);
}

/** What kind of literal a word is, if any. */
export function classifyWord(word: string): LiteralKind | undefined {
  if (word.length < 3) return undefined;
  const digits = countDigits(word);
  // Most words: nothing below takes one of these.
  if (digits === 0 && !word.includes('/') && !word.includes('.')) return undefined;
  if (DATE.test(word)) return 'date';
  if (NUMBER.test(word)) return digits >= 3 ? 'number' : undefined;
  return URL_WORD.test(word) || isPath(word) ? 'path' : classifyName(word, digits);
}

/** Customers, orders, reservations, commits: letters with digits, as in `#W123`, `ABC123`, `jo_doe_42`. */
function classifyName(word: string, digits: number): LiteralKind | undefined {
  if (!ID.test(word) || word.startsWith('0x') || word.length < 5 || MEASURE.test(word)) return undefined;
  if (word.includes('@')) return word.indexOf('@') > 0 && word.includes('.') ? 'id' : undefined;
  const needed = word === word.toUpperCase() ? 1 : 2;
  return digits >= needed && digits < word.length && !word.includes('/') ? 'id' : undefined;
}

function isPath(word: string): boolean {
  if (!PATH.test(word) || word.includes('//')) return false;
  if (ROOTED_PATH.test(word) || EXTENSION.test(word)) return true;
  const parts = word.split('/');
  return parts.length > 2 && parts.every((part) => /\w/.test(part));
}

function countDigits(word: string): number {
  let digits = 0;
  for (let at = 0; at < word.length; at += 1) {
    const unit = word.charCodeAt(at);
    if (unit >= 48 && unit <= 57) digits += 1;
  }
  return digits;
}
