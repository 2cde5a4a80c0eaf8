import { isMaskable } from './compaction/mask.ts';
import type { LogEntry, Message } from './message.ts';
import { readParts } from './parts.ts';
import type { Segment } from './version.ts';

/** Name of the tool by which an agent searches and reads its log. */
export const RECALL = 'recall';

/** Of a longer query the first: a match keeps a bit for each. */
const MAX_WORDS = 24;

/** More than all words of a query can weigh together: whoever holds it letter by letter comes first. */
const PHRASE_WEIGHT = 10_000;

export interface RecallQuery {
  /** the whole of it, folded */
  readonly phrase: string;
  /** at least one; of a path or an id both the whole and its parts */
  readonly words: readonly string[];
}

/** What of a query a text holds. */
export interface RecallMatch {
  readonly isPhrase: boolean;
  /** a bit for each word */
  readonly words: number;
}

/** Messages that hold the same of a query. */
interface Bucket extends RecallMatch {
  readonly isArchived: boolean;
  /** ascending */
  readonly seqs: number[];
}

/** @param given not blank */
export function readQuery(given: string): RecallQuery {
  const phrase = fold(canonical(given.trim()));
  const pieces = phrase.split(/\s+/u).map((piece) => piece.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''));
  // Knows words also where a script has no blanks between them.
  const segments = [...new Intl.Segmenter('und', { granularity: 'word' }).segment(phrase)];
  const inner = segments.flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
  const all = [...new Set([...pieces, ...inner])].filter((word) => word !== '');
  const telling = all.filter((word) => !/^[a-z]{1,2}$/.test(word));
  const words = [telling, all, [phrase]].find(({ length }) => length > 0) ?? [];
  return { phrase, words: words.slice(0, MAX_WORDS) };
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
  readonly #query: RecallQuery;
  readonly #segments: readonly Segment[];
  readonly #buckets = new Map<string, Bucket>();
  readonly #ownCalls = new Set<string>();
  #segment = 0;
  #scanned = 0;

  /** @param segments of the version that the agent sees */
  constructor(query: RecallQuery, segments: readonly Segment[]) {
    this.#query = query;
    this.#segments = segments;
  }

  /** Entries come ascending. What the tool itself answered is passed over: an echo would outrank what it echoes. */
  *add(entry: LogEntry): Generator<void, void> {
    const { seq, message } = entry;
    for (const { id, name } of message.toolCalls ?? []) if (name === RECALL) this.#ownCalls.add(id);
    if (message.toolCallId !== undefined && this.#ownCalls.has(message.toolCallId)) return;
    this.#scanned += 1;
    const match = yield* matchText(this.#query, recallText(message));
    if (match === undefined) return;
    const isArchived = this.#isArchived(entry);
    const key = [match.isPhrase, match.words, isArchived].join();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, { ...match, isArchived, seqs: [seq] });
    else bucket.seqs.push(seq);
  }

  /** Whether a hit is no longer in the context, or stands there otherwise than in the log. */
  get hasArchived(): boolean {
    return [...this.#buckets.values()].some(({ isArchived }) => isArchived);
  }

  /**
   * Seqs of the hits, best first: the whole query, then its words, each the more the fewer messages hold it, then the newest.
   * What the agent sees anyway is a hit only where nothing archived is.
   */
  rank(): number[] {
    const weights = this.#weighWords();
    const byWeight = new Map<number, number[]>();
    const { hasArchived } = this;
    for (const { isPhrase, words, isArchived, seqs } of this.#buckets.values()) {
      if (isArchived !== hasArchived) continue;
      const held = weights.reduce((sum, weight, word) => sum + (hasWord(words, word) ? weight : 0), 0);
      // Rounded, so that the same words weigh the same in whatever order they are added.
      const weight = Math.round((held + (isPhrase ? PHRASE_WEIGHT : 0)) * 1e6);
      byWeight.set(weight, [...(byWeight.get(weight) ?? []), ...seqs]);
    }
    const ranked = [...byWeight].toSorted(([a], [b]) => b - a);
    return ranked.flatMap(([, seqs]) => seqs.toSorted((a, b) => b - a));
  }

  /** A hit's text around the query, or around the word of it that says most; `reach` characters to each side. */
  *excerpt(message: Message, reach: number): Generator<void, string> {
    const text = canonical(recallText(message));
    yield;
    const folded = fold(text);
    const { phrase, words } = this.#query;
    const weights = this.#weighWords();
    const heaviestFirst = words.toSorted((a, b) => (weights[words.indexOf(b)] ?? 0) - (weights[words.indexOf(a)] ?? 0));
    for (const word of [phrase, ...heaviestFirst]) {
      yield;
      const at = folded.indexOf(word);
      if (at !== -1) return cutAround(text, at, at + word.length, reach);
    }
    return cutAround(text, 0, 0, reach);
  }

  #weighWords(): number[] {
    return this.#query.words.map((_, word) => {
      const holding = [...this.#buckets.values()].filter(({ words }) => hasWord(words, word));
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

/** Undefined: none of its words. */
export function* matchText({ phrase, words }: RecallQuery, text: string): Generator<void, RecallMatch | undefined> {
  const folded = fold(canonical(text));
  let held = 0;
  for (const [index, word] of words.entries()) {
    yield;
    if (folded.includes(word)) held |= 1 << index;
  }
  return held === 0 ? undefined : { isPhrase: folded.includes(phrase), words: held };
}

function hasWord(words: number, index: number): boolean {
  return (words & (1 << index)) !== 0;
}

/** One form for what looks the same, and nothing that a cut could leave half of. */
function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/** Lower case, at the same places: the one letter that would grow by it, and the one that depends on its neighbours, are replaced. */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
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
