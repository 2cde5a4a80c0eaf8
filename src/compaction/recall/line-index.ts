import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { LogEntry } from '../../domain/message.ts';
import { isWithin } from '../../domain/rolled-back.ts';
import type { Segment, SeqRange } from '../../domain/version.ts';
import { isMaskable } from '../mask.ts';
import { LineMarks } from './line-marks.ts';
import { LineRanking, type RankedLine } from './line-ranking.ts';
import { MessageLines, RECALL } from './message-lines.ts';
import { NumberList } from './number-list.ts';
import { Postings } from './postings.ts';
import type { RecallQuery } from './recall-query.ts';
import { WordTable } from './word-table.ts';
import { scanWords } from './words.ts';

export interface SearchScope {
  readonly from: number;
  readonly to: number;
  readonly segments: readonly Segment[];
  /** Ranges of messages that a rollback took out of the conversation. */
  readonly hidden?: readonly SeqRange[];
  readonly most: number;
}

export interface LineMatches {
  /** Matching lines, best first. Among equal scores, newer lines come first. */
  readonly ranked: readonly RankedLine[];
  readonly count: number;
  /** True if the lines are no longer in the context, or appear there in shortened form. */
  readonly areArchived: boolean;
  /** Weight of each query word. Rare words weigh more. */
  readonly weights: readonly number[];
}

/** Characters between two yields, which take about a millisecond. */
const SLICE_CHARS = 32_768;

/**
 * Shares of all lines. Words above `COMMON_SHARE` are ignored. Above `FREQUENT_SHARE`, a line needs another query word.
 */
const FREQUENT_SHARE = 1 / 32;
const COMMON_SHARE = 1 / 8;
const MIN_FREQUENT_LINES = 256;

/** If a text such as `12` occurs inside more words than this, only the word itself counts. */
const MAX_INSIDE = 256;

interface FoundWord {
  readonly numbers: readonly number[];
  /** Number of the word that is exactly the searched text. −1 if no line has that word. */
  readonly whole: number;
  /** Number of lines with the searched text, summed over all words that contain the text. */
  readonly count: number;
  readonly index: number;
}

/**
 * Index of the words of all lines. A line is the n-th of its message, so only the different words are held as texts.
 */
export class LineIndex {
  readonly first: number;
  readonly #words = new WordTable();
  readonly #postings = new Postings();
  readonly #starts = new NumberList();
  /** Twice the bytes of each message, plus 1 if a mask can replace the message. */
  readonly #sizes = new NumberList();
  #lines = 0;
  #wholeLines = 0;
  /** Open calls of the tool `recall`. Their results are left out, because they repeat other messages. */
  readonly #ownCalls = new Set<string>();

  constructor(first = 1) {
    this.first = first;
  }

  get head(): number {
    return this.first + this.#starts.length - 1;
  }

  get bytes(): number {
    return this.#words.bytes + this.#postings.bytes + this.#starts.bytes + this.#sizes.bytes;
  }

  /** @returns 0 if the index does not hold the message */
  bytesOf(seq: number): number {
    return seq < this.first || seq > this.head ? 0 : this.#sizes.at(seq - this.first) >>> 1;
  }

  /** Adds entries that follow `head`, ascending and without gaps. The caller must run the generator to its end. */
  *add(entries: readonly LogEntry[]): Interruptible<void> {
    let chars = 0;
    for (const entry of entries) {
      const start = this.#lines;
      if (!this.#isOwnResult(entry)) {
        const read = new MessageLines(entry.message);
        for (const [from, to] of read.places()) {
          this.#addLine(read.folded, from, to);
          chars += to - from;
          if (chars < SLICE_CHARS) continue;
          chars = 0;
          yield;
        }
      }
      this.#starts.push(start);
      this.#sizes.push(2 * entry.bytes + (isMaskable(entry) ? 1 : 0));
      this.#wholeLines = this.#lines;
    }
  }

  /**
   * Searches for words. A word inside a longer word counts half. Lines that the model sees are returned only if no
   * archived line matches.
   * @param marks memory of an earlier search, which no other search uses at the same time
   */
  *search(
    { words }: RecallQuery,
    { from, to, segments, hidden = [], most }: SearchScope,
    marks = new LineMarks(),
  ): Interruptible<LineMatches> {
    const lines = this.#wholeLines;
    marks.open(lines);
    const found = yield* this.#findWords(words);
    const weights = found.map(({ count }) => Math.log2(1 + lines / Math.max(1, count)));
    yield* this.#markLines(found, marks);
    const archived = new LineRanking(weights, most);
    const visible = new LineRanking(weights, most);
    const isArchived = archivedBefore(segments);
    for (let seq = Math.min(this.head, to); seq >= Math.max(this.first, from); seq -= 1) {
      if (endsSlice(seq)) yield;
      const [start, end] = this.#linesOf(seq, lines);
      if (!marks.hasAny(start, end) || isWithin(hidden, seq)) continue;
      const ranking = isArchived(seq, this.#sizes.at(seq - this.first) % 2 === 1) ? archived : visible;
      marks.addTo(ranking, seq, start, end);
    }
    marks.clear();
    const { count } = archived;
    const ranking = count > 0 ? archived : visible;
    return { ranked: ranking.rank(), count: ranking.count, areArchived: count > 0, weights };
  }

  *#markLines(found: readonly FoundWord[], marks: LineMarks): Interruptible<void> {
    const lines = this.#wholeLines;
    const isOver = (share: number, count: number): boolean => count > Math.max(MIN_FREQUENT_LINES, lines * share);
    for (const [at, { numbers, whole, count, index }] of found.toSorted((a, b) => a.count - b.count).entries()) {
      if (at > 0 && isOver(COMMON_SHARE, count)) break;
      const isFrequent = at > 0 && isOver(FREQUENT_SHARE, count);
      for (const number of numbers) {
        const bits = { bit: 1 << index, isAlone: number === whole, isFrequent };
        this.#postings.read(number, (line) => marks.mark(line, bits));
      }
      yield;
    }
  }

  *#findWords(words: readonly string[]): Interruptible<FoundWord[]> {
    const found: FoundWord[] = [];
    for (const word of words) {
      const whole = this.#words.find(word);
      const inside = [...this.#words.findInside(word).take(MAX_INSIDE + 1)];
      const numbers = inside.length > MAX_INSIDE && whole !== -1 ? [whole] : inside;
      const count = numbers.reduce((sum, number) => sum + this.#postings.count(number), 0);
      found.push({ numbers, whole, count, index: found.length });
      yield;
    }
    return found;
  }

  #linesOf(seq: number, lines: number): readonly [start: number, end: number] {
    const at = seq - this.first;
    return [this.#starts.at(at), at + 1 < this.#starts.length ? Math.min(lines, this.#starts.at(at + 1)) : lines];
  }

  #isOwnResult({ message: { toolCalls = [], toolCallId } }: LogEntry): boolean {
    for (const { id, name } of toolCalls) if (name === RECALL) this.#ownCalls.add(id);
    return toolCallId !== undefined && this.#ownCalls.delete(toolCallId);
  }

  #addLine(text: string, from: number, to: number): void {
    scanWords(text, from, to, (start, end) => {
      const word = this.#words.add(text, start, end);
      if (word === -1) return;
      if (word === this.#postings.length) this.#postings.open();
      this.#postings.add(word, this.#lines);
    });
    this.#lines += 1;
  }
}

/** Returns a check for descending seqs: true if the context no longer shows the message as the log does. */
function archivedBefore(segments: readonly Segment[]): (seq: number, canBeMasked: boolean) => boolean {
  let at = segments.length - 1;
  return (seq, canBeMasked) => {
    while (at >= 0 && (segments[at] as Segment).from > seq) at -= 1;
    const segment = segments[at];
    if (segment === undefined || segment.kind === 'raw' || segment.to < seq) return false;
    return segment.kind !== 'masked' || canBeMasked;
  };
}
