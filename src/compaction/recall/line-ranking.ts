export interface RankedLine {
  readonly seq: number;
  readonly line: number;
  readonly score: number;
}

interface Bucket {
  readonly score: number;
  readonly lines: RankedLine[];
  /** Seq of the message of the last added line. `given` counts the lines of this message in the bucket. */
  seq: number;
  given: number;
}

/** Maximum equal lines of one message. More would crowd out lines of other messages. */
const MAX_EQUAL_LINES = 8;
const WORD_BITS = 2 ** 24;
/** Maximum number of query words whose two bits each fit into a key of 30 bits. */
const MAX_SMALL_WORDS = 15;

/** Counts matching lines. Groups lines by the query words in them, and keeps the newest lines of each group. */
export class LineRanking {
  count = 0;
  readonly #weights: readonly number[];
  readonly #most: number;
  readonly #buckets = new Map<number, Bucket>();
  #lastKey = -1;
  #last: Bucket = { score: 0, lines: [], seq: 0, given: 0 };

  constructor(weights: readonly number[], most: number) {
    this.#weights = weights;
    this.#most = most;
  }

  /**
   * Adds a line, the newest first. Both numbers have a bit for each query word: `found` in the line, `alone` as a whole
   * word.
   */
  add(found: number, alone: number, seq: number, line: number): void {
    this.count += 1;
    const bucket = this.#bucketOf(found, alone);
    if (bucket.lines.length === this.#most) return;
    if (bucket.seq !== seq) {
      bucket.seq = seq;
      bucket.given = 0;
    }
    bucket.given += 1;
    if (bucket.given <= MAX_EQUAL_LINES) bucket.lines.push({ seq, line, score: bucket.score });
  }

  /** Returns the best lines. A whole word counts twice as much as a part of a longer word. */
  rank(): RankedLine[] {
    const best: RankedLine[] = [];
    for (const { score, lines } of [...this.#buckets.values()].toSorted((a, b) => b.score - a.score)) {
      const last = best[this.#most - 1];
      if (last !== undefined && last.score > score) break;
      best.push(...lines);
    }
    return best.toSorted(compareLines).slice(0, this.#most);
  }

  #bucketOf(found: number, alone: number): Bucket {
    const key = this.#keyOf(found, alone);
    // Neighbouring lines often hold the same words, so the last bucket is tried first.
    if (key === this.#lastKey) return this.#last;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { score: this.#scoreOf(found, alone), lines: [], seq: 0, given: 0 };
      this.#buckets.set(key, bucket);
    }
    this.#lastKey = key;
    this.#last = bucket;
    return bucket;
  }

  #keyOf(found: number, alone: number): number {
    const { length } = this.#weights;
    return length <= MAX_SMALL_WORDS ? (found << length) | alone : found * WORD_BITS + alone;
  }

  #scoreOf(found: number, alone: number): number {
    const sum = this.#weights.reduce((all, weight, word) => {
      const both = ((found >> word) & 1) + ((alone >> word) & 1);
      return all + (weight * both) / 2;
    }, 0);
    return roundScore(sum);
  }
}

/** Rounds a score, because floating-point sums depend on the order of the additions. */
export function roundScore(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}

/** Orders lines by score. Among equals, the newest comes first. */
export function compareLines(a: RankedLine, b: RankedLine): number {
  return b.score - a.score || b.seq - a.seq || b.line - a.line;
}
