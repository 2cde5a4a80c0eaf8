import { splitFragments } from './evidence/fragments.ts';
import { scanTerms } from './evidence/terms.ts';
import type { LogEntry } from './message.ts';
import { RECALL, recallText } from './recall.ts';
import type { Sliced } from './sliced.ts';

/** A line of a message that matches a query. */
export interface RankedLine {
  readonly seq: number;
  readonly text: string;
  readonly score: number;
}

export interface LineQuery {
  readonly query: string;
  /** First and last message to search. */
  readonly from: number;
  readonly to: number;
  /** Maximum number of lines. */
  readonly most: number;
}

interface Line {
  readonly seq: number;
  readonly text: string;
}

/** Characters that are read between two yields: about 5 ms. */
const SLICE_CHARS = 65_536;
/** Terms of the index that stand in for a query term that no line holds as a word. */
const MAX_STAND_INS = 32;
/** Score of a stand-in, as a share of that of a whole word. */
const STAND_IN_SHARE = 0.5;
/** Lines that are searched for the exact query. */
const MAX_PHRASE_LINES = 256;

/** Inverted index of the lines of a log by their terms. It is filled once, and then answers queries without the log. */
export class RecallIndex {
  readonly #lines: Line[] = [];
  /** Indexes of the lines that hold a term, ascending. */
  readonly #postings = new Map<string, number[]>();
  readonly #ownCalls = new Set<string>();

  /**
   * Adds log entries in ascending order. Calls of `recall` and their results are skipped, because they repeat other
   * messages.
   */
  *add(entries: readonly LogEntry[]): Sliced<void> {
    let chars = 0;
    for (const { seq, message } of entries) {
      for (const { id, name } of message.toolCalls ?? []) if (name === RECALL) this.#ownCalls.add(id);
      if (message.toolCallId !== undefined && this.#ownCalls.has(message.toolCallId)) continue;
      const text = recallText(message);
      for (const [start, end] of splitFragments(text)) {
        this.#addLine({ seq, text: text.slice(start, end) });
        chars += end - start;
        if (chars < SLICE_CHARS) continue;
        chars = 0;
        yield;
      }
    }
  }

  /** Finds the lines with the most weight of matched terms. Rare terms weigh more. Newer lines come first among equals. */
  search({ query, from, to, most }: LineQuery): RankedLine[] {
    const scores = new Float64Array(this.#lines.length);
    for (const term of termsOf(query)) {
      const exact = this.#postings.get(term);
      if (exact === undefined) for (const inner of this.#findStandIns(term)) this.#score(scores, inner, STAND_IN_SHARE);
      else this.#score(scores, exact, 1);
    }
    const ranked = takeBest(scores, Math.max(most, MAX_PHRASE_LINES), (index) => {
      const { seq } = this.#lines[index] as Line;
      return seq >= from && seq <= to;
    });
    const phrase = fold(query.trim());
    return ranked
      .map((index) => ({
        index,
        score: scores[index] as number,
        isPhrase: fold((this.#lines[index] as Line).text).includes(phrase),
      }))
      .toSorted((a, b) => Number(b.isPhrase) - Number(a.isPhrase) || b.score - a.score || b.index - a.index)
      .slice(0, most)
      .map(({ index, score }) => ({ ...(this.#lines[index] as Line), score }));
  }

  #addLine(line: Line): void {
    const index = this.#lines.push(line) - 1;
    for (const term of termsOf(line.text)) {
      const postings = this.#postings.get(term);
      if (postings === undefined) this.#postings.set(term, [index]);
      else postings.push(index);
    }
  }

  /** Lines of the terms that contain a term: `ORD4711` for `4711`. */
  #findStandIns(term: string): (readonly number[])[] {
    const found: (readonly number[])[] = [];
    for (const [other, lines] of this.#postings) {
      if (other.includes(term) && found.push(lines) === MAX_STAND_INS) break;
    }
    return found;
  }

  #score(scores: Float64Array, lines: readonly number[], share: number): void {
    const weight = share * Math.log2(1 + this.#lines.length / lines.length);
    for (const index of lines) scores[index] = (scores[index] as number) + weight;
  }
}

/** Indexes of the best scores above 0, the newest first among equals. Scores are few, as sums of the terms' weights. */
function takeBest(scores: Float64Array, most: number, mayTake: (index: number) => boolean): number[] {
  const byScore = new Map<number, number[]>();
  for (let index = scores.length - 1; index >= 0; index -= 1) {
    const score = scores[index] as number;
    if (score === 0) continue;
    const equals = byScore.get(score);
    if (equals === undefined && mayTake(index)) byScore.set(score, [index]);
    else if (equals !== undefined && equals.length < most && mayTake(index)) equals.push(index);
  }
  return [...byScore]
    .toSorted(([a], [b]) => b - a)
    .flatMap(([, indexes]) => indexes)
    .slice(0, most);
}

function termsOf(text: string): Set<string> {
  const folded = fold(text);
  const terms = new Set<string>();
  scanTerms(folded, 0, folded.length, (term) => terms.add(term));
  return terms;
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
