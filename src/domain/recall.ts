import { isMaskable } from './compaction/mask.ts';
import type { LogEntry, Message } from './message.ts';
import { readParts } from './parts.ts';
import { canonical, findTerm, fold, type RecallQuery } from './recall-terms.ts';
import type { Segment } from './version.ts';

/** Name of the tool by which an agent searches and reads its log. */
export const RECALL = 'recall';

/** More than all words of a query can weigh together: whoever holds it letter by letter comes first. */
const PHRASE_WEIGHT = 10_000;

/** What of a query a text holds: a bit for each term, the whole query first, its words behind it. */
export interface RecallMatch {
  readonly held: number;
  /** those that stand there by themselves, not inside a longer word or number */
  readonly alone: number;
}

/** Messages that hold the same of a query. */
interface Bucket extends RecallMatch {
  readonly isArchived: boolean;
  /** ascending */
  readonly seqs: number[];
}

/** What is searched and read of a message: its texts and its calls, but for those of the tool itself. */
export function recallText({ content, parts, toolCalls = [] }: Message): string {
  const texts = readParts({ content, parts }).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const calls = toolCalls.flatMap((call) => (call.name === RECALL ? [] : [`${call.name} ${call.arguments}`]));
  return [...texts, ...calls].join('\n');
}

/**
 * A search over a log that is told of its entries one after the other and keeps none of them. Its generators yield where they may
 * be interrupted: after a few milliseconds at a message of a megabyte.
 */
export class RecallSearch {
  readonly #terms: readonly string[];
  readonly #segments: readonly Segment[];
  readonly #buckets = new Map<string, Bucket>();
  readonly #ownCalls = new Set<string>();
  #segment = 0;
  #scanned = 0;

  /** @param segments of the version that the agent sees */
  constructor({ phrase, words }: RecallQuery, segments: readonly Segment[]) {
    this.#terms = [phrase, ...words];
    this.#segments = segments;
  }

  /** Entries come ascending. What the tool itself answered is passed over: an echo would outrank what it echoes. */
  *add(entry: LogEntry): Generator<void, void> {
    const { seq, message } = entry;
    for (const { id, name } of message.toolCalls ?? []) if (name === RECALL) this.#ownCalls.add(id);
    if (message.toolCallId !== undefined && this.#ownCalls.has(message.toolCallId)) return;
    this.#scanned += 1;
    const match = yield* matchText(this.#terms, recallText(message));
    if (match === undefined) return;
    const isArchived = this.#isArchived(entry);
    const key = [match.held, match.alone, isArchived].join();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, { ...match, isArchived, seqs: [seq] });
    else bucket.seqs.push(seq);
  }

  /** Whether a hit is no longer in the context, or stands there otherwise than in the log. */
  get hasArchived(): boolean {
    return [...this.#buckets.values()].some(({ isArchived }) => isArchived);
  }

  /**
   * Seqs of the hits, best first: the whole query, then its words, each the more the fewer messages hold it and half as much inside
   * a longer one, then the newest. What the agent sees anyway is a hit only where nothing archived is.
   */
  rank(): number[] {
    const weights = this.#weighTerms();
    const byWeight = new Map<number, number[]>();
    const { hasArchived } = this;
    for (const { held, alone, isArchived, seqs } of this.#buckets.values()) {
      if (isArchived !== hasArchived) continue;
      const sum = weights.reduce(
        (all, weight, term) => all + (weight * (bitOf(held, term) + bitOf(alone, term))) / 2,
        0,
      );
      // Rounded, so that the same weights make the same sum in whatever order they are added.
      const rounded = Math.round(sum * 1e6);
      byWeight.set(rounded, [...(byWeight.get(rounded) ?? []), ...seqs]);
    }
    const ranked = [...byWeight].toSorted(([a], [b]) => b - a);
    return ranked.flatMap(([, seqs]) => seqs.toSorted((a, b) => b - a));
  }

  /** A hit's text around the query, or around the word of it that says most; `reach` characters to each side. */
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
      const holding = [...this.#buckets.values()].filter(({ held }) => bitOf(held, term) === 1);
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

/** Undefined: none of the terms. */
function* matchText(terms: readonly string[], text: string): Generator<void, RecallMatch | undefined> {
  const folded = fold(canonical(text));
  let held = 0;
  let alone = 0;
  for (const [index, term] of terms.entries()) {
    yield;
    const place = findTerm(folded, term);
    if (place !== undefined) held |= 1 << index;
    if (place?.isAlone === true) alone |= 1 << index;
  }
  return held === 0 ? undefined : { held, alone };
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
