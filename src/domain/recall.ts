import { isMaskable } from './compaction/mask.ts';
import type { LogEntry, Message } from './message.ts';
import { readParts } from './parts.ts';
import type { Segment } from './version.ts';

/** Name of the tool by which an agent searches and reads its log. */
export const RECALL = 'recall';

/** Weight of the exact query: more than all its words together, so that a message with the exact query comes first. */
const PHRASE_WEIGHT = 10_000;

/** Terms of a query that a text contains: one bit per term. Bit 0 is the whole query, the other bits are its words. */
export interface RecallMatch {
  readonly found: number;
  /** Terms that occur by themselves, not inside a longer word or number. */
  readonly alone: number;
}

/** Messages that contain the same terms. */
interface Bucket extends RecallMatch {
  readonly isArchived: boolean;
  readonly seqs: number[];
}

/** Returns the searchable text of a message: its texts and its calls, except calls of `recall`. */
export function recallText({ content, parts, toolCalls = [] }: Message): string {
  const texts = readParts({ content, parts }).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const calls = toolCalls.flatMap((call) => (call.name === RECALL ? [] : [`${call.name} ${call.arguments}`]));
  return [...texts, ...calls].join('\n');
}

/**
 * A search over a log that receives the entries one by one and keeps none. Its generators yield within a few
 * milliseconds, even at a message of a megabyte.
 */
export class RecallSearch {
  readonly #terms: readonly string[];
  readonly #segments: readonly Segment[];
  readonly #buckets = new Map<string, Bucket>();
  readonly #ownCalls = new Set<string>();
  #segment = 0;
  #scanned = 0;

  /** @param segments segments of the version that the agent sees */
  constructor({ phrase, words }: RecallQuery, segments: readonly Segment[]) {
    this.#terms = [phrase, ...words];
    this.#segments = segments;
  }

  /** Adds an entry. Entries must ascend. Results of `recall` are skipped, because an echo would outrank its source. */
  *add(entry: LogEntry): Generator<void, void> {
    const { seq, message } = entry;
    for (const { id, name } of message.toolCalls ?? []) if (name === RECALL) this.#ownCalls.add(id);
    if (message.toolCallId !== undefined && this.#ownCalls.has(message.toolCallId)) return;
    this.#scanned += 1;
    const match = yield* matchText(this.#terms, recallText(message));
    if (match === undefined) return;
    const isArchived = this.#isArchived(entry);
    const key = [match.found, match.alone, isArchived].join();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, { ...match, isArchived, seqs: [seq] });
    else bucket.seqs.push(seq);
  }

  /** True if a hit has left the context, or differs there from the log. */
  get hasArchived(): boolean {
    return [...this.#buckets.values()].some(({ isArchived }) => isArchived);
  }

  /**
   * Returns the seqs of the hits, best first. The exact query weighs most. Each word weighs more the fewer messages
   * contain it, and half inside a longer word. Equal hits are ordered newest first. Hits that the agent sees anyway are
   * returned only if no archived message matches.
   */
  rank(): number[] {
    const weights = this.#weighTerms();
    const byWeight = new Map<number, number[]>();
    const { hasArchived } = this;
    for (const { found, alone, isArchived, seqs } of this.#buckets.values()) {
      if (isArchived !== hasArchived) continue;
      const sum = weights.reduce(
        (all, weight, term) => all + (weight * (bitOf(found, term) + bitOf(alone, term))) / 2,
        0,
      );
      // Rounded, because the order of the additions must not change the sum.
      const rounded = Math.round(sum * 1e6);
      byWeight.set(rounded, [...(byWeight.get(rounded) ?? []), ...seqs]);
    }
    const ranked = [...byWeight].toSorted(([a], [b]) => b - a);
    return ranked.flatMap(([, seqs]) => seqs.toSorted((a, b) => b - a));
  }

  /** Cuts an excerpt around the heaviest term of the query, with `reach` characters on each side. */
  *excerpt(message: Message, reach: number): Generator<void, string> {
    const text = canonical(recallText(message));
    yield;
    const folded = fold(text);
    const weights = this.#weighTerms();
    const terms = this.#terms.map((term, index) => ({ term, weight: weights[index] as number }));
    for (const { term } of terms.toSorted((a, b) => b.weight - a.weight)) {
      yield;
      const place = findTerm(folded, term);
      if (place !== undefined) return cutAround(text, place.at, place.at + term.length, reach);
    }
    return cutAround(text, 0, 0, reach);
  }

  #weighTerms(): number[] {
    return this.#terms.map((_, term) => {
      if (term === 0) return PHRASE_WEIGHT;
      const holding = [...this.#buckets.values()].filter(({ found }) => bitOf(found, term) === 1);
      const count = holding.reduce((sum, { seqs }) => sum + seqs.length, 0);
      return Math.log2(1 + this.#scanned / Math.max(1, count));
    });
  }

  #isArchived(entry: LogEntry): boolean {
    while ((this.#segments[this.#segment]?.to ?? Infinity) < entry.seq) this.#segment += 1;
    const segment = this.#segments[this.#segment];
    if (segment === undefined || segment.kind === 'raw' || segment.from > entry.seq) return false;
    return segment.kind !== 'masked' || isMaskable(entry);
  }
}

/** @returns undefined if the text contains none of the terms */
function* matchText(terms: readonly string[], text: string): Generator<void, RecallMatch | undefined> {
  const folded = fold(canonical(text));
  let found = 0;
  let alone = 0;
  for (const [index, term] of terms.entries()) {
    yield;
    const place = findTerm(folded, term);
    if (place !== undefined) found |= 1 << index;
    if (place?.isAlone === true) alone |= 1 << index;
  }
  return found === 0 ? undefined : { found, alone };
}

function bitOf(bits: number, index: number): 0 | 1 {
  return ((bits >> index) & 1) as 0 | 1;
}

function cutAround(text: string, from: number, to: number, reach: number): string {
  let start = Math.max(0, from - reach);
  let end = Math.min(text.length, to + reach);
  if (isInsidePair(text, start)) start += 1;
  if (isInsidePair(text, end)) end -= 1;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}

function isInsidePair(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** Most words of a query that are used. A match keeps one bit of a 32-bit number for each. */
const MAX_WORDS = 24;

/** Most places of a term that are examined. A megabyte of one letter has a million places. */
const MOST_PLACES = 1_000;

const LETTER = /^[\p{L}\p{N}]/u;

export interface RecallQuery {
  /** The whole query, folded. */
  readonly phrase: string;
  /** At least one word. A path or an id contributes itself and its parts. */
  readonly words: readonly string[];
}

export interface TermPlace {
  readonly at: number;
  readonly isAlone: boolean;
}

/** @param query not blank */
export function readQuery(query: string): RecallQuery {
  const phrase = fold(canonical(query.trim()));
  const pieces = phrase.split(/\s+/u).map((piece) => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(piece)?.[0] ?? '');
  // The segmenter also finds words of scripts without spaces.
  const segments = [...new Intl.Segmenter('und', { granularity: 'word' }).segment(phrase)];
  const inner = segments.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
  const all = [...new Set([...pieces, ...inner])].filter((word) => word !== '');
  const longer = all.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = [longer, all, [phrase]].find(({ length }) => length > 0) ?? [];
  return { phrase, words: words.slice(0, MAX_WORDS) };
}

/** Finds the first place where the term is a word by itself, or else its first place. */
function findTerm(text: string, term: string): TermPlace | undefined {
  const first = text.indexOf(term);
  for (let at = first, places = 0; at !== -1 && places < MOST_PLACES; at = text.indexOf(term, at + 1), places += 1) {
    if (!isWordAcross(text, at) && !isWordAcross(text, at + term.length)) return { at, isAlone: true };
  }
  return first === -1 ? undefined : { at: first, isAlone: false };
}

/** Checks whether a word or number continues across this place. */
function isWordAcross(text: string, at: number): boolean {
  return LETTER.test(text[at - 1] ?? '') && LETTER.test(text[at] ?? '');
}

/** Gives equal-looking texts one form, and replaces half characters. */
function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/**
 * Folds to lower case without moving any place. Two letters are replaced first: one would grow, one depends on its
 * neighbours.
 */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}
