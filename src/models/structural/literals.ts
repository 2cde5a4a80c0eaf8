import { ELLIPSIS } from './text.ts';

/** `count` is a number without a name, as in a table or a listing. */
export type LiteralKind = 'path' | 'id' | 'date' | 'number' | 'count';

/** A path, id, date or number that a later call may need byte for byte. */
export interface Literal {
  readonly text: string;
  readonly kind: LiteralKind;
}

const MAX_CHARS = 200;

/**
 * Matches URLs, dates with time, and texts between separators. Each alternative repeats one character class after a
 * fixed start, so matching takes linear time.
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
/** Matches the end of a text that gives the next number a name, such as `price: ` or `$`. */
const NAMING = /[:=$] ?$/;
const CAPITALS = /^[A-Z]{5,8}$/;

/** Finds the words of a text in order, without the punctuation around them. Clipped words are left out. */
export function* findWords(text: string): Generator<string> {
  for (const [run] of text.matchAll(WORDS)) {
    const word = readWord(run);
    if (word !== undefined) yield word;
  }
}

export function* findLiterals(text: string): Generator<Literal> {
  let last = Number.NaN;
  for (const { 0: run, index } of text.matchAll(WORDS)) {
    const word = readWord(run);
    const kind = word === undefined ? undefined : classifyAmid(word, text, index + run.indexOf(word));
    if (word === undefined || kind === undefined) continue;
    // A number that is one more than the last number is the line number of a listing.
    const isCounting = kind === 'number' && Number(word) === last + 1;
    if (kind === 'number') last = Number(word);
    yield { text: word, kind: isCounting ? 'count' : kind };
  }
}

/**
 * Also reads the characters around a word: `"ABCDEF"` is an id, `</title>` is no path, `x.ts:12:` and `"price": 152`
 * are named numbers.
 */
function classifyAmid(word: string, text: string, from: number): LiteralKind | undefined {
  const kind = classifyWord(word);
  const [before, after] = [text[from - 1], text[from + word.length]];
  const isQuoted = before === '"' && after === '"';
  if (kind === undefined) return isQuoted && CAPITALS.test(word) ? 'id' : undefined;
  if (before === '<' && word.startsWith('/')) return undefined;
  if (kind !== 'number' || isQuoted || after === ':') return kind;
  return NAMING.test(text.slice(Math.max(0, from - 2), from)) ? kind : 'count';
}

/** @returns undefined for a text that is clipped, or longer than any literal */
function readWord(run: string): string | undefined {
  if (run.length > MAX_CHARS) return undefined;
  // Most matches need no trimming. Checking their first and last character costs less than a replacement.
  if (isAlphanumeric(run.charCodeAt(0)) && isAlphanumeric(run.charCodeAt(run.length - 1))) return run;
  if (run.startsWith(ELLIPSIS) || run.endsWith(ELLIPSIS)) return undefined;
  return run.replace(OUTER_MARKS, '');
}

function isAlphanumeric(unit: number): boolean {
  const small = unit | 32;
  return (small >= 97 && small <= 122) || (unit >= 48 && unit <= 57);
}

export function classifyWord(word: string): LiteralKind | undefined {
  if (word.length < 3) return undefined;
  const digits = countDigits(word);
  // Most words have neither digits nor `/` nor `.`. This check saves them the patterns below.
  if (digits === 0 && !word.includes('/') && !word.includes('.')) return undefined;
  if (DATE.test(word)) return 'date';
  if (NUMBER.test(word)) return digits >= 3 ? 'number' : undefined;
  return URL_WORD.test(word) || isPath(word) ? 'path' : classifyName(word, digits);
}

/** Matches letters with digits: customers, orders, commits, such as `#W123`, `ABC123`, `jo_doe_42`. */
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

/** Source of a literal. A later call repeats an argument of an earlier call more often than a word of a result. */
export type LiteralSource = 'argument' | 'result' | 'text';

const SOURCE_WEIGHT: Readonly<Record<LiteralSource, number>> = { argument: 3, text: 0.6, result: 1 };
const KIND_WEIGHT: Readonly<Record<LiteralKind, number>> = { id: 1, path: 1, date: 1, number: 0.4, count: 0.05 };
/** Weight of the oldest literal (id, path, date or number) relative to the newest. */
const OLDEST = 0.5;
const MAX_DEPTH = 16;

interface Entry {
  readonly kind: LiteralKind;
  source: LiteralSource;
  uses: number;
  position: number;
}

export class LiteralLedger {
  readonly #entries = new Map<string, Entry>();
  /** Cache of `namedIn` by line, because every attempt to write the summary looks up the same lines. */
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #messageCount: number;

  constructor(messageCount: number) {
    this.#messageCount = messageCount;
  }

  note(literals: Iterable<Literal>, source: LiteralSource, position: number): void {
    this.#named.clear();
    for (const { text, kind } of literals) {
      const entry = this.#entries.get(text);
      if (entry === undefined) {
        this.#entries.set(text, { kind, source, uses: 1, position });
      } else {
        entry.uses += 1;
        entry.position = position;
        if (SOURCE_WEIGHT[source] > SOURCE_WEIGHT[entry.source]) entry.source = source;
      }
    }
  }

  weightOf(text: string): number {
    const entry = this.#entries.get(text);
    if (entry === undefined) return 0;
    const recency = OLDEST + (1 - OLDEST) * ((entry.position + 1) / this.#messageCount);
    return SOURCE_WEIGHT[entry.source] * KIND_WEIGHT[entry.kind] * recency * (1 + Math.log2(entry.uses) / 4);
  }

  heaviest(count: number): string[] {
    const weighed = [...this.#entries.keys()].map((text) => ({ text, weight: this.weightOf(text) }));
    weighed.sort((a, b) => b.weight - a.weight);
    return weighed.slice(0, count).map(({ text }) => text);
  }

  /** Returns the known literals that a line names, as a word or as a folder of a longer path. */
  namedIn(line: string): ReadonlySet<string> {
    const known = this.#named.get(line);
    if (known !== undefined) return known;
    const named = new Set<string>();
    this.#named.set(line, named);
    for (const word of findWords(line)) {
      for (const text of withFolders(word)) if (this.#entries.has(text)) named.add(text);
    }
    return named;
  }
}

function withFolders(word: string): string[] {
  const texts = [word];
  let end = word.lastIndexOf('/');
  for (; end > 0 && texts.length < MAX_DEPTH; end = word.lastIndexOf('/', end - 1)) texts.push(word.slice(0, end));
  return texts;
}

/** Cache of literals by message and call, because later passes read old messages again. */
export class KnownLiterals {
  readonly #known = new WeakMap<object, readonly Literal[]>();

  of(source: object, find: () => Iterable<Literal>): readonly Literal[] {
    const known = this.#known.get(source) ?? [...find()];
    this.#known.set(source, known);
    return known;
  }
}
