import { isMaskable } from './compaction/mask.ts';
import type { LogEntry, Message } from './message.ts';
import { readParts } from './parts.ts';
import type { Segment } from './version.ts';

/** Name of the tool with which a model searches and reads its conversation's log. */
export const RECALL = 'recall';

/**
 * Score of a match of the exact query. It exceeds the score of all single words together, so that exact matches come
 * first.
 */
const PHRASE_WEIGHT = 10_000;

/**
 * The query terms that a text contains, as one bit per term. Bit 0 is the whole query, the other bits are its words.
 */
export interface RecallMatch {
  readonly found: number;
  /**
   * The terms of `found` that occur as separate words, not inside a longer word or number.
   */
  readonly alone: number;
}

/** Messages that all contain the same query terms. */
interface Bucket extends RecallMatch {
  readonly isArchived: boolean;
  readonly seqs: number[];
}

/** Returns the searchable text of a message: its texts and its tool calls, except calls of `recall`. */
export function recallText({ content, parts, toolCalls = [] }: Message): string {
  const texts = readParts({ content, parts }).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const calls = toolCalls.flatMap((call) => (call.name === RECALL ? [] : [`${call.name} ${call.arguments}`]));
  return [...texts, ...calls].join('\n');
}

/**
 * Searches a log that is passed in one entry at a time, without keeping the entries. The generators yield within a few
 * milliseconds, even for a message of 1 MB.
 */
export class RecallSearch {
  readonly #terms: readonly string[];
  readonly #segments: readonly Segment[];
  readonly #buckets = new Map<string, Bucket>();
  readonly #ownCalls = new Set<string>();
  #segment = 0;
  #scanned = 0;

  /** @param segments segments of the context version that the model sees */
  constructor({ phrase, words }: RecallQuery, segments: readonly Segment[]) {
    this.#terms = [phrase, ...words];
    this.#segments = segments;
  }

  /**
   * Searches one log entry. Pass entries in ascending order. Results of the `recall` tool are skipped, because they
   * repeat other messages.
   */
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

  /** True if a match is no longer in the context, or appears there in shortened form. */
  get hasArchived(): boolean {
    return [...this.#buckets.values()].some(({ isArchived }) => isArchived);
  }

  /**
   * Returns the sequence numbers of the matching messages, best match first. A match of the exact query scores most. A
   * rare word scores more than a frequent one, and half as much inside a longer word. Among equal scores, newer
   * messages come first. Messages that the model sees in its context are returned only if no archived message matches.
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
      // Rounded, because floating-point sums depend on the order of the additions.
      const rounded = Math.round(sum * 1e6);
      byWeight.set(rounded, [...(byWeight.get(rounded) ?? []), ...seqs]);
    }
    const ranked = [...byWeight].toSorted(([a], [b]) => b - a);
    return ranked.flatMap(([, seqs]) => seqs.toSorted((a, b) => b - a));
  }

  /** Cuts an excerpt around the highest-scoring query term, with `reach` characters on each side. */
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

/** @returns undefined if the text contains no query term */
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

/** Maximum number of query words that are used. A match stores them as bits of a 32-bit number. */
const MAX_WORDS = 24;

/** Maximum number of occurrences of a term that are examined. A megabyte of one letter has a million. */
const MOST_PLACES = 1_000;

const LETTER = /^[\p{L}\p{N}]/u;

export interface RecallQuery {
  /** The whole query, in lower case and normalized. */
  readonly phrase: string;
  /** At least one word. A path or an id adds itself and its parts. */
  readonly words: readonly string[];
}

export interface TermPlace {
  readonly at: number;
  readonly isAlone: boolean;
}

/** @param query search text that is not blank */
export function readQuery(query: string): RecallQuery {
  const phrase = fold(canonical(query.trim()));
  const pieces = phrase.split(/\s+/u).map((piece) => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/u.exec(piece)?.[0] ?? '');
  // `Intl.Segmenter` also finds words in scripts without spaces, e.g. Chinese.
  const segments = [...new Intl.Segmenter('und', { granularity: 'word' }).segment(phrase)];
  const inner = segments.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
  const all = [...new Set([...pieces, ...inner])].filter((word) => word !== '');
  const longer = all.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = [longer, all, [phrase]].find(({ length }) => length > 0) ?? [];
  return { phrase, words: words.slice(0, MAX_WORDS) };
}

/** Finds the first place where the term is a separate word, or otherwise its first occurrence. */
function findTerm(text: string, term: string): TermPlace | undefined {
  const first = text.indexOf(term);
  for (let at = first, places = 0; at !== -1 && places < MOST_PLACES; at = text.indexOf(term, at + 1), places += 1) {
    if (!isWordAcross(text, at) && !isWordAcross(text, at + term.length)) return { at, isAlone: true };
  }
  return first === -1 ? undefined : { at: first, isAlone: false };
}

/** Checks whether a word or number continues across this position. */
function isWordAcross(text: string, at: number): boolean {
  return LETTER.test(text[at - 1] ?? '') && LETTER.test(text[at] ?? '');
}

/** Normalizes texts that look equal to the same characters, and replaces halves of surrogate pairs. */
function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/**
 * Converts to lower case without changing the length of the text. Two letters are replaced first: the lower case of one
 * is longer, that of the other depends on its neighbours.
 */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}
