import type { Message } from '../message.ts';
import type { Sliced } from '../sliced.ts';
import { PARTS, type Part, partsOf, splitFragments } from './fragments.ts';
import { findSupersededInSlices } from './superseded.ts';
import { scanTerms, shapeOf, type TermShape } from './terms.ts';

/** A line of a message, or a piece of a long line. */
export interface Fragment {
  /** Index of its message. */
  readonly message: number;
  readonly part: Part;
  readonly text: string;
  /** Index of the text among the parts of its message, and place in that text. */
  readonly partIndex: number;
  readonly start: number;
  readonly end: number;
  /** Terms of the fragment, each once, as indexes of the ledger's terms. */
  readonly terms: readonly number[];
}

/** What a source says about a term. */
export interface Term {
  readonly text: string;
  readonly shape: TermShape;
  /** Message that holds it first, and the part where it stands. */
  readonly first: number;
  readonly firstPart: Part;
  /** Messages that hold it. */
  messages: number;
  /** Messages that hold it in this part. */
  readonly messagesByPart: Record<Part, number>;
  /** Last message that holds it in this part, or −1. */
  readonly lastByPart: Record<Part, number>;
  occurrences: number;
  /** Occurrences as a key: `name:`, `name=`. */
  asKey: number;
  /** Occurrences as a value: `: name`, `= name`. */
  asValue: number;
  isInError: boolean;
}

/** Everything that the choice of fragments needs to know about a source. */
export interface Ledger {
  readonly messages: number;
  readonly terms: readonly Term[];
  readonly fragments: readonly Fragment[];
  /** Index of the last message of the agent, or −1. */
  readonly lastAgent: number;
  /** Messages whose result a later result has made stale. */
  readonly superseded: ReadonlySet<number>;
}

/** Characters that are read between two yields: about 5 ms. */
const SLICE_CHARS = 65_536;

/** Reads messages of a log, oldest first. The result is a pure function of the messages. */
export function* readLedger(messages: readonly Message[]): Sliced<Ledger> {
  const reader = new LedgerReader();
  let chars = 0;
  for (const [index, message] of messages.entries()) {
    for (const [partIndex, { part, text }] of partsOf(message).entries()) {
      reader.read(message, { message: index, part, partIndex, text });
      chars += text.length;
      if (chars < SLICE_CHARS) continue;
      chars = 0;
      yield;
    }
  }
  const lastAgent = messages.findLastIndex(({ role }) => role === 'assistant');
  const superseded = yield* findSupersededInSlices(messages);
  return { ...reader.collected, messages: messages.length, lastAgent, superseded };
}

interface PlacedText {
  readonly message: number;
  readonly part: Part;
  readonly partIndex: number;
  readonly text: string;
}

class LedgerReader {
  readonly #terms: Term[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #fragments: Fragment[] = [];

  get collected(): Pick<Ledger, 'terms' | 'fragments'> {
    return { terms: this.#terms, fragments: this.#fragments };
  }

  read({ isError }: Message, place: PlacedText): void {
    const { text, ...where } = place;
    splitFragments(text, (start, end) => {
      const terms = new Set<number>();
      scanTerms(text, start, end, (term, from, to) => {
        const index = this.#note(term, place, isError === true);
        const noted = this.#terms[index] as Term;
        if (isKey(text, to)) noted.asKey += 1;
        if (isValue(text, from)) noted.asValue += 1;
        terms.add(index);
      });
      this.#fragments.push({ ...where, text: text.slice(start, end), start, end, terms: [...terms] });
    });
  }

  #note(text: string, { message, part }: PlacedText, isError: boolean): number {
    let index = this.#indexes.get(text);
    if (index === undefined) {
      index = this.#terms.length;
      this.#indexes.set(text, index);
      this.#terms.push({
        text,
        shape: shapeOf(text),
        first: message,
        firstPart: part,
        messages: 0,
        messagesByPart: { user: 0, statement: 0, call: 0, result: 0 },
        lastByPart: { user: -1, statement: -1, call: -1, result: -1 },
        occurrences: 0,
        asKey: 0,
        asValue: 0,
        isInError: false,
      });
    }
    const term = this.#terms[index] as Term;
    if (lastOf(term) !== message) term.messages += 1;
    if (term.lastByPart[part] !== message) term.messagesByPart[part] += 1;
    term.lastByPart[part] = message;
    term.occurrences += 1;
    term.isInError ||= isError;
    return index;
  }
}

/** Last message that holds the term. */
export function lastOf({ lastByPart }: Term): number {
  let last = -1;
  for (const part of PARTS) last = Math.max(last, lastByPart[part]);
  return last;
}

const COLON = 58;
const EQUALS = 61;
const SPACE = 32;
const QUOTES = new Set([34, 39, 96]);

/** A term before a colon or an equals sign, quoted or not. */
function isKey(text: string, end: number): boolean {
  const at = QUOTES.has(text.charCodeAt(end)) ? end + 1 : end;
  return isAssignment(text.charCodeAt(at));
}

/** A term after a colon or an equals sign, quoted or not, with or without a space. */
function isValue(text: string, start: number): boolean {
  let at = start - 1;
  if (QUOTES.has(text.charCodeAt(at))) at -= 1;
  if (text.charCodeAt(at) === SPACE) at -= 1;
  return isAssignment(text.charCodeAt(at));
}

function isAssignment(unit: number): boolean {
  return unit === COLON || unit === EQUALS;
}
