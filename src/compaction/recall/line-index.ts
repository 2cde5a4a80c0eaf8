import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { LogEntry } from '../../domain/message.ts';
import { isWithin } from '../../domain/rolled-back.ts';
import type { Segment, SeqRange } from '../../domain/version.ts';
import { readOutcome } from '../evidence/outcome.ts';
import { isMaskable } from '../mask.ts';
import { LineMarks } from './line-marks.ts';
import { type HeadBits, type LineBits, LineScores } from './line-scores.ts';
import { MessageLines, RECALL } from './message-lines.ts';
import { NumberList } from './number-list.ts';
import { Postings } from './postings.ts';
import { FAILED_MARK, type QueryWord, type RecallQuery, USER_MARK } from './recall-query.ts';
import { type MessageSpan, RoundRanking, readHead } from './round-ranking.ts';
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

/** A message with matching lines, or of the same round. */
export interface FoundMessage {
  readonly seq: number;
  readonly bits: LineBits;
  readonly head: HeadBits;
  /** Weight of the message beside its words. */
  readonly weight: number;
}

export interface LineMatches {
  /** Messages of the rounds with the best lines, best first. Among equal scores, newer messages come first. */
  readonly messages: readonly FoundMessage[];
  /** Number of lines with a searched word. */
  readonly count: number;
  /** True if the messages are no longer in the context, or appear there in shortened form. */
  readonly areArchived: boolean;
  /** Weight of each searched word. Rare words weigh more. */
  readonly weights: ReadonlyMap<string, number>;
  readonly scores: LineScores;
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

/** Maximum searched words, because the index stores the words of a line as bits of a 32-bit number. */
const MAX_BITS = 24;
/** Added weight of the newest message if the newest is asked for, or of the oldest. */
const AGE_SHARE = 0.5;

interface FoundWord {
  readonly text: string;
  /** Numbers of the words that contain the searched text, or are another form of it. */
  readonly numbers: readonly number[];
  /** Number of the word that is exactly the searched text. −1 if no line has that word. */
  readonly whole: number;
  /** Number of lines with the searched text, summed over all its words. */
  readonly count: number;
  readonly bit: number;
  readonly weight: number;
}

/** Flags of a message, in the low bits of its size. */
const MASKABLE = 1;
const RESULT = 2;
const FLAG_BITS = 2;

/**
 * Index of the words of all lines. A line is the n-th of its message, so only the different words are held as texts.
 */
export class LineIndex {
  readonly first: number;
  readonly #words = new WordTable();
  readonly #postings = new Postings();
  readonly #starts = new NumberList();
  /** Bytes of each message, shifted by its flags. */
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
    return seq < this.first || seq > this.head ? 0 : this.#sizes.at(seq - this.first) >>> FLAG_BITS;
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
      this.#addMarks(entry, start);
      this.#starts.push(start);
      const flags = (isMaskable(entry) ? MASKABLE : 0) + (entry.message.role === 'tool' ? RESULT : 0);
      this.#sizes.push((entry.bytes << FLAG_BITS) + flags);
      this.#wholeLines = this.#lines;
    }
  }

  /**
   * Searches for words, and for other forms of them. Lines that the model sees are returned only if no archived line
   * matches.
   * @param marks memory of an earlier search, which no other search uses at the same time
   */
  *search(
    { words, cues }: RecallQuery,
    { from, to, segments, hidden = [], most }: SearchScope,
    marks = new LineMarks(),
  ): Interruptible<LineMatches> {
    const lines = this.#wholeLines;
    marks.open(lines);
    const found = yield* this.#findWords(words);
    yield* this.#markLines(found, marks);
    const scores = new LineScores(found.map(({ weight }) => weight));
    const [archived, visible] = [new RoundRanking(scores, most), new RoundRanking(scores, most)];
    const weightOf = (seq: number): number => {
      const share = (seq - this.first) / Math.max(1, this.head - this.first);
      return cues.age === 0 ? 1 : 1 + AGE_SHARE * (cues.age > 0 ? share : 1 - share);
    };
    const isArchived = archivedBefore(segments);
    const least = Math.max(this.first, from);
    for (let seq = Math.min(this.head, to), last = seq; seq >= least; seq -= 1) {
      if (endsSlice(seq)) yield;
      const [start] = this.#linesOf(seq, lines);
      if ((this.#sizes.at(seq - this.first) & RESULT) !== 0 && seq > least) continue;
      const [, end] = this.#linesOf(last, lines);
      if (marks.next(start, end) < end) {
        const round = this.#spansOf(seq, last, lines).filter((span) => !isWithin(hidden, span.seq));
        const head: HeadBits = isWithin(hidden, seq) ? [0, 0] : readHead(marks, round.at(-1));
        const how = { marks, weight: weightOf(seq) };
        const areArchived = round.map((span) => isArchived(span.seq, span.canBeMasked));
        archived.add(
          round.filter((_, at) => areArchived[at]),
          head,
          how,
        );
        visible.add(
          round.filter((_, at) => areArchived[at] === false),
          head,
          how,
        );
      }
      last = seq - 1;
    }
    const { count } = archived;
    const ranking = count > 0 ? archived : visible;
    const messages = ranking.rounds.flatMap(({ spans, head }) =>
      spans.map(({ seq, start, end }) => ({ seq, bits: marks.read(start, end).slice(), head, weight: weightOf(seq) })),
    );
    marks.clear();
    const weights = new Map(found.map(({ text, weight }) => [text, weight]));
    return { messages: messages.slice(0, most), count: ranking.count, areArchived: count > 0, weights, scores };
  }

  *#markLines(found: readonly FoundWord[], marks: LineMarks): Interruptible<void> {
    const lines = this.#wholeLines;
    const isOver = (share: number, count: number): boolean => count > Math.max(MIN_FREQUENT_LINES, lines * share);
    for (const [at, { numbers, whole, count, bit }] of found.toSorted((a, b) => a.count - b.count).entries()) {
      if (at > 0 && isOver(COMMON_SHARE, count)) break;
      const isFrequent = at > 0 && isOver(FREQUENT_SHARE, count);
      for (const number of numbers) {
        const mark = { bit, isAlone: number === whole, isFrequent };
        this.#postings.read(number, (line) => marks.mark(line, mark));
      }
      yield;
    }
  }

  *#findWords(words: readonly QueryWord[]): Interruptible<FoundWord[]> {
    const found: FoundWord[] = [];
    for (const { text, share } of this.#chooseWords(words)) {
      const whole = this.#words.find(text);
      const like = [...this.#words.findLike(text).take(MAX_INSIDE + 1)];
      const forms = like.flatMap(({ number, isForm }) => (isForm && number !== whole ? [number] : []));
      const isInMany = like.length > MAX_INSIDE && whole !== -1;
      const numbers = isInMany ? [whole, ...forms] : like.map(({ number }) => number);
      const count = numbers.reduce((sum, number) => sum + this.#postings.count(number), 0);
      const weight = share * Math.log2(1 + this.#wholeLines / Math.max(1, count));
      found.push({ text, numbers, whole, count, bit: 1 << found.length, weight });
      yield;
    }
    return found;
  }

  /** The rarest words that the log has, and then words that it may have in another form. */
  #chooseWords(words: readonly QueryWord[]): QueryWord[] {
    if (words.length <= MAX_BITS) return [...words];
    const countOf = ({ text }: QueryWord): number => {
      const number = this.#words.find(text);
      return number === -1 ? Infinity : this.#postings.count(number);
    };
    return words.toSorted((one, other) => Math.sign(countOf(one) - countOf(other)) || 0).slice(0, MAX_BITS);
  }

  /** Messages of a round with their lines, newest first. Messages without lines are left out. */
  #spansOf(first: number, last: number, lines: number): MessageSpan[] {
    const spans: MessageSpan[] = [];
    for (let seq = last; seq >= first; seq -= 1) {
      const [start, end] = this.#linesOf(seq, lines);
      const canBeMasked = (this.#sizes.at(seq - this.first) & MASKABLE) !== 0;
      if (start < end) spans.push({ seq, start, end, canBeMasked });
    }
    return spans;
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
    scanWords(text, from, to, (start, end) => this.#addWord(text, start, end, this.#lines));
    this.#lines += 1;
  }

  /** Marks the last line of a failed result, and the first line of a user message. */
  #addMarks({ message }: LogEntry, start: number): void {
    if (this.#lines === start) return;
    if (message.role === 'user') this.#addWord(USER_MARK, 0, USER_MARK.length, start);
    if (message.role !== 'tool' || readOutcome(message).status === 'ok') return;
    this.#addWord(FAILED_MARK, 0, FAILED_MARK.length, this.#lines - 1);
  }

  #addWord(text: string, from: number, to: number, line: number): void {
    const word = this.#words.add(text, from, to);
    if (word === -1) return;
    if (word === this.#postings.length) this.#postings.open();
    this.#postings.add(word, line);
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
