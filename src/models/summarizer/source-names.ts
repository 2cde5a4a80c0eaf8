import { classOf, isWordClass } from '../../domain/evidence/characters.ts';
import { partsOf } from '../../domain/evidence/fragments.ts';
import type { Ledger } from '../../domain/evidence/ledger.ts';
import { scanTerms } from '../../domain/evidence/terms.ts';
import type { Message } from '../../domain/message.ts';
import { endsSlice, type Sliced } from '../../domain/sliced.ts';
import { wordsOf } from './names.ts';

export interface NameSource {
  readonly messages: readonly Message[];
  /** Evidence of the messages, and of later messages, which are not part of the source. */
  readonly ledger: Ledger;
  /** Other texts that the model was given: the user's request and earlier summaries. */
  readonly texts: readonly string[];
}

/** Shorter words are no terms of the evidence. */
const MIN_TERM_CHARS = 3;
const FIGURE = /\d[\d,.']*/g;

/** The names and figures that the source of a summary holds. */
export class SourceNames {
  readonly #texts: readonly string[];
  readonly #terms: Set<string>;
  /** Spelling of a term in the source, by the term in lower case. */
  readonly #spellings: Map<string, string>;
  #figures: Set<string> | undefined;

  private constructor(texts: readonly string[], terms: Set<string>, spellings: Map<string, string>) {
    this.#texts = texts;
    this.#terms = terms;
    this.#spellings = spellings;
  }

  static *read({ messages, ledger, texts }: NameSource): Sliced<SourceNames> {
    const terms = new Set<string>();
    const spellings = new Map<string, string>();
    const note = (text: string): void => {
      terms.add(text);
      const folded = text.toLowerCase();
      if (!spellings.has(folded)) spellings.set(folded, text);
    };
    for (const [index, { text, first }] of ledger.terms.entries()) {
      if (first < messages.length) note(text);
      if (endsSlice(index)) yield;
    }
    for (const text of texts) scanTerms(text, 0, text.length, note);
    const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.arguments));
    const said = messages.flatMap((message) => partsOf(message).map(({ text }) => text));
    return new SourceNames([...said, ...calls, ...texts], terms, spellings);
  }

  /** Checks whether the source holds the name as a whole, not inside a longer word. */
  *holds(name: string): Sliced<boolean> {
    if (this.#terms.has(name)) return true;
    // Most invented names have a word that the source lacks. The texts then need no search.
    if (!this.knowsWords(name)) return false;
    for (const text of this.#texts) {
      if (hasWhole(text, name)) return true;
      if (text.length > 1_024) yield;
    }
    return false;
  }

  /** Checks whether the source holds each word of the name, in any order. */
  knowsWords(name: string): boolean {
    return wordsOf(name).every((word) => word.length < MIN_TERM_CHARS || this.#terms.has(word));
  }

  /** Spelling of the source for a name that differs in its capitals only. */
  respell(name: string): string | undefined {
    return this.#spellings.get(name.toLowerCase());
  }

  /** Checks for a figure, however the source separates its thousands: `1,234.50` is `1234.5`. */
  *holdsFigure(figure: string): Sliced<boolean> {
    if (this.#figures === undefined) {
      this.#figures = new Set();
      for (const text of this.#texts) {
        for (const [found] of text.matchAll(FIGURE)) this.#figures.add(normalizeFigure(found));
        yield;
      }
    }
    return this.#figures.has(normalizeFigure(figure));
  }
}

function normalizeFigure(figure: string): string {
  const plain = withoutEnd(figure.replace(/[,']/g, ''), '.');
  if (!plain.includes('.')) return plain;
  const short = withoutEnd(plain, '0');
  return short.endsWith('.') ? short.slice(0, -1) : short;
}

function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

function hasWhole(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (!isJoined(text, at) && !isJoined(text, end)) return true;
  }
  return false;
}

/** Checks whether a word continues across this place. */
function isJoined(text: string, at: number): boolean {
  return isWordClass(classOf(text.charCodeAt(at - 1))) && isWordClass(classOf(text.charCodeAt(at)));
}
