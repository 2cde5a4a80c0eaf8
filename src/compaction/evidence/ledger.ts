import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { type PartKind, partTexts } from './fragments.ts';
import { readRecords } from './read-records.ts';
import type { TextRecord } from './records.ts';
import { findSuperseded } from './superseded.ts';
import { TermIndex } from './term-index.ts';
import { scanPlaces } from './terms.ts';

export interface Fragment extends Pick<TextRecord, 'text' | 'start' | 'end' | 'line' | 'depth' | 'field' | 'isKey'> {
  readonly message: number;
  readonly part: PartKind;
  readonly partIndex: number;
  /** Index of the fragment that names the subject of this fragment and is shown with it. −1 without such a fragment. */
  readonly owner: number;
  /** Terms of the fragment, each once, as indexes of the ledger's terms. */
  readonly terms: readonly number[];
}

/** A word, name or number, and the messages that hold it. */
export interface Term {
  readonly text: string;
  readonly first: number;
  readonly firstPart: PartKind;
  last: number;
  messages: number;
  readonly messagesByPart: Record<PartKind, number>;
  /** By kind of part: index of the last message with the term in such a part. −1 without such a message. */
  readonly lastByPart: Record<PartKind, number>;
  occurrences: number;
  /** Occurrences of the term as a key (`name:`, `name=`), and as a value (`: name`, `= name`). */
  asKey: number;
  asValue: number;
  isInError: boolean;
}

export interface Ledger {
  readonly messages: number;
  readonly terms: readonly Term[];
  /** Finds the index of a term by its text. */
  readonly index: Pick<TermIndex, 'findPart'>;
  readonly fragments: readonly Fragment[];
  /** Index of the agent's last message. −1 if the agent wrote nothing. */
  readonly lastAgent: number;
  /** Indexes of messages whose result a later result has made stale. */
  readonly superseded: ReadonlySet<number>;
}

/** Characters between two yields. Distinct Chinese characters, the slowest text, take about 5 ms. */
const SLICE_CHARS = 8_192;
/** Number of characters that take as long to read as the fixed work for a message part. */
const PART_CHARS = 32;

/** Reads terms and fragments of messages, oldest first. Without `isStaleWanted`, `superseded` stays empty. */
export function* readLedger(messages: readonly Message[], { isStaleWanted = true } = {}): Interruptible<Ledger> {
  const reader = new LedgerReader();
  let chars = 0;
  for (const [index, message] of messages.entries()) {
    const isError = message.isError === true;
    for (const [partIndex, part] of partTexts(message).entries()) {
      chars += PART_CHARS;
      const place = { message: index, part: part.part, partIndex, isError, first: reader.next };
      for (const record of readRecords(part)) {
        reader.read(record, place, part.text);
        chars += record.text.length;
        if (chars < SLICE_CHARS) continue;
        chars = 0;
        yield;
      }
    }
  }
  const lastAgent = messages.findLastIndex(({ role }) => role === 'assistant');
  const superseded = isStaleWanted ? yield* findSuperseded(messages) : new Set<number>();
  return { ...reader.collected, messages: messages.length, lastAgent, superseded };
}

interface FragmentPlace extends Pick<Fragment, 'message' | 'part' | 'partIndex'> {
  readonly isError: boolean;
  readonly first: number;
}

class LedgerReader {
  readonly #index = new TermIndex();
  readonly #terms: Term[] = [];
  readonly #fragments: Fragment[] = [];
  readonly #lastFragments: number[] = [];

  get collected(): Pick<Ledger, 'terms' | 'index' | 'fragments'> {
    return { terms: this.#terms, index: this.#index, fragments: this.#fragments };
  }

  get next(): number {
    return this.#fragments.length;
  }

  /** @param whole text of the part that holds the record, because the characters around a term count */
  read(record: TextRecord, place: FragmentPlace, whole: string): void {
    const { start, end, text, line, depth, field, isKey: isLabel, owner } = record;
    const { message, part, partIndex, first } = place;
    const terms: number[] = [];
    const fragment = this.#fragments.length;
    const isDecoded = text.length !== end - start || !whole.startsWith(text, start);
    const [read, from, to] = isDecoded ? [text, 0, text.length] : [whole, start, end];
    scanPlaces(read, from, to, (termStart, termEnd) => {
      const index = this.#index.addPart(read, termStart, termEnd);
      if (index === this.#terms.length) this.#terms.push(createTerm(this.#index.textOf(index), message, part));
      const term = this.#terms[index] as Term;
      term.occurrences += 1;
      if (isKey(read, termEnd)) term.asKey += 1;
      if (isValue(read, termStart)) term.asValue += 1;
      if (this.#lastFragments[index] === fragment) return;
      this.#lastFragments[index] = fragment;
      terms.push(index);
      this.#note(term, place);
    });
    const owned = owner === undefined ? -1 : first + owner.index;
    this.#fragments.push({
      message,
      part,
      partIndex,
      start,
      end,
      text,
      line,
      depth,
      field,
      isKey: isLabel,
      owner: owned,
      terms,
    });
  }

  #note(term: Term, { message, part, isError }: FragmentPlace): void {
    if (term.last !== message) term.messages += 1;
    if (term.lastByPart[part] !== message) term.messagesByPart[part] += 1;
    term.last = message;
    term.lastByPart[part] = message;
    term.isInError ||= isError;
  }
}

function createTerm(text: string, first: number, firstPart: PartKind): Term {
  return {
    text,
    first,
    firstPart,
    last: -1,
    messages: 0,
    messagesByPart: { user: 0, statement: 0, call: 0, result: 0 },
    lastByPart: { user: -1, statement: -1, call: -1, result: -1 },
    occurrences: 0,
    asKey: 0,
    asValue: 0,
    isInError: false,
  };
}

const COLON = 58;
const EQUALS = 61;
const SPACE = 32;

function isQuote(unit: number): boolean {
  return unit === 34 || unit === 39 || unit === 96;
}

/** True if a colon or an equals sign follows the term, quoted or not. */
function isKey(text: string, end: number): boolean {
  const at = isQuote(text.charCodeAt(end)) ? end + 1 : end;
  return isAssignment(text.charCodeAt(at));
}

function isValue(text: string, start: number): boolean {
  let at = start - 1;
  if (isQuote(text.charCodeAt(at))) at -= 1;
  if (text.charCodeAt(at) === SPACE) at -= 1;
  return isAssignment(text.charCodeAt(at));
}

function isAssignment(unit: number): boolean {
  return unit === COLON || unit === EQUALS;
}
