import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { classOf, IDEOGRAPH, isWordClass } from '../evidence/characters.ts';
import { type Ledger, readLedger, type Term } from '../evidence/ledger.ts';
import { shapeOf } from '../evidence/term-shape.ts';
import { valueTerms } from '../evidence/use-probability.ts';

export const MAX_LISTED = 200;

/** Maximum characters of a text that is searched for identifiers inside longer names. Longer texts would be slow. */
const MAX_SEARCHED = 100_000;

export interface Identifier {
  /** Spelling of the identifier in the messages. */
  readonly text: string;
  /** Position (seq) of the last message that holds the identifier. */
  readonly seq: number;
}

/** Identifiers that a summary kept or lost. Each list has at most 200, the most likely needed ones first. */
export interface IdentifierFates {
  /** Identifiers that the summary holds, at most 200. */
  readonly kept: readonly Identifier[];
  /** Identifiers that the summary does not hold, at most 200. */
  readonly lost: readonly Identifier[];
  /** Number of all kept identifiers. */
  readonly keptCount: number;
  /** Number of all lost identifiers. */
  readonly lostCount: number;
}

interface SummarizedRange {
  readonly messages: readonly Message[];
  /** Position of the first message. The messages have no gaps. */
  readonly from: number;
  readonly text: string;
  /** Lists all words that contain this text, ignoring case, even plain words. Absent: lists identifiers. */
  readonly find?: string | undefined;
}

export function* compareIdentifiers({ messages, from, text, find }: SummarizedRange): Interruptible<IdentifierFates> {
  const ledger = yield* readLedger(messages, { isStaleWanted: false });
  const order = yield* orderIdentifiers(ledger, find === undefined ? undefined : withoutMarks(find).toLowerCase());
  const summary = yield* readLedger([{ role: 'assistant', content: text }], { isStaleWanted: false });
  const held = new Set(summary.terms.map((term) => term.text));
  yield;
  const fates = { kept: [] as Identifier[], lost: [] as Identifier[], keptCount: 0, lostCount: 0 };
  for (const [index, term] of order.entries()) {
    if (endsSlice(index)) yield;
    const isKept = held.has(term.text) || (text.length <= MAX_SEARCHED && holdsWhole(text, term.text));
    const list = isKept ? fates.kept : fates.lost;
    fates[isKept ? 'keptCount' : 'lostCount'] += 1;
    if (list.length < MAX_LISTED) list.push({ text: term.text, seq: from + term.last });
  }
  return fates;
}

function* orderIdentifiers(ledger: Ledger, find: string | undefined): Interruptible<Term[]> {
  const values = yield* valueTerms(ledger);
  const found: { readonly term: Term; readonly value: number }[] = [];
  for (const [index, term] of ledger.terms.entries()) {
    if (endsSlice(index)) yield;
    const isWanted = find === undefined ? isIdentifier(term.text) : term.text.toLowerCase().includes(find);
    if (!isWanted) continue;
    found.push({ term, value: values[index] as number });
  }
  return found.toSorted((a, b) => b.value - a.value || a.term.first - b.term.first).map(({ term }) => term);
}

/** Removes marks at both ends, because no term begins or ends with a mark: `#W123` is the term `W123`. */
function withoutMarks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && !isNameClass(classOf(text.charCodeAt(start)))) start += 1;
  while (start < end && !isNameClass(classOf(text.charCodeAt(end - 1)))) end -= 1;
  return start === end ? text : text.slice(start, end);
}

function isNameClass(found: number): boolean {
  return isWordClass(found) || found === IDEOGRAPH;
}

/** False for plain words and for words at the start of a sentence, because they name nothing. */
function isIdentifier(text: string): boolean {
  const shape = shapeOf(text);
  if (shape.isIdeographic) return false;
  return shape.hasDigit || shape.hasUnderscore || shape.hasInnerCapital || shape.isUpperCase || isJoinedName(text);
}

const NAME_MARKS = ['.', '/', '@', ':', '#', '+', '~', '$', '%'];

/** True for names such as `src/a.ts` and `user.name`. A hyphen alone also joins words: `read-only`. */
function isJoinedName(text: string): boolean {
  return NAME_MARKS.some((mark) => text.includes(mark));
}

/** True if the text holds the identifier outside of longer words: `src/a.ts` in `src/a.ts:12`. */
function holdsWhole(text: string, identifier: string): boolean {
  for (let at = text.indexOf(identifier); at >= 0; at = text.indexOf(identifier, at + 1)) {
    const isStart = !isWordClass(classOf(text.charCodeAt(at - 1)));
    if (isStart && !isWordClass(classOf(text.charCodeAt(at + identifier.length)))) return true;
  }
  return false;
}
