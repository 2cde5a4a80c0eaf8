import { NO_TOKEN, type Vocabulary } from './vocabulary.ts';

/** Bytes up to which a linear search for the next pair is faster than the heap. */
export const SHORT_BYTES = 128;

/**
 * Merges pieces of at most SHORT_BYTES by a search for the lowest rank after each merge. Uses shared scratch memory.
 */
export class ShortMerge {
  readonly #vocabulary: Vocabulary;
  /** Start of each part. The last entry is the end of the piece. */
  readonly starts = new Int32Array(SHORT_BYTES + 1);
  /** Rank of part i joined with part i + 1. */
  readonly #ranks = new Int32Array(SHORT_BYTES + 1);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** Merges `bytes[start…end)`. Returns the number of parts. They lie between the first entries of `starts`. */
  merge(bytes: Uint8Array, start: number, end: number): number {
    const vocabulary = this.#vocabulary;
    const starts = this.starts;
    const ranks = this.#ranks;
    let parts = end - start;
    for (let part = 0; part <= parts; part++) {
      starts[part] = start + part;
      ranks[part] = part + 1 < parts ? vocabulary.find(bytes, start + part, start + part + 2) : NO_TOKEN;
    }
    for (;;) {
      let lowest = NO_TOKEN;
      let at = -1;
      for (let part = 0; part + 1 < parts; part++) {
        const rank = ranks[part] as number;
        if (rank < lowest) {
          lowest = rank;
          at = part;
        }
      }
      if (at < 0) return parts;
      starts.copyWithin(at + 1, at + 2, parts + 1);
      ranks.copyWithin(at + 1, at + 2, parts + 1);
      parts--;
      ranks[at] = at + 1 < parts ? this.#rankAt(bytes, at) : NO_TOKEN;
      if (at > 0) ranks[at - 1] = this.#rankAt(bytes, at - 1);
    }
  }

  #rankAt(bytes: Uint8Array, part: number): number {
    return this.#vocabulary.find(bytes, this.starts[part] as number, this.starts[part + 2] as number);
  }
}
