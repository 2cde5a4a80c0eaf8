import { NO_TOKEN, type Vocabulary } from './vocabulary.ts';

/** Steps between two yields, which take about a tenth of a millisecond. */
const STEPS_A_SLICE = 1_024;

export interface BytePiece {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Merges the bytes of a piece in O(n log n), with a linked list of parts and a heap of merges. An entry of the heap is
 * outdated if the rank of its part has changed. Uses 28 bytes of memory per byte.
 */
export function* mergeLong(
  vocabulary: Vocabulary,
  piece: BytePiece,
  visit: (id: number) => void,
): Generator<void, void> {
  const { bytes, start } = piece;
  const length = piece.end - start;
  // Part p starts at byte p and ends where next[p] starts. A loop with yields fills the arrays: 10 MB would take 50 ms.
  const next = new Int32Array(length);
  const previous = new Int32Array(length + 1);
  /** Rank of the token of part p and its successor. NO_TOKEN: there is no such token, or part p was merged away. */
  const ranks = new Int32Array(length);
  // Each merge takes one entry from the heap and adds at most two.
  const heap = new RankHeap(2 * length);

  const enqueue = (part: number): void => {
    const middle = next[part] as number;
    const rank = middle < length ? vocabulary.find(bytes, start + part, start + (next[middle] as number)) : NO_TOKEN;
    ranks[part] = rank;
    if (rank !== NO_TOKEN) heap.push(rank, part);
  };

  let steps = 0;
  for (let part = 0; part < length; part++) {
    next[part] = part + 1;
    previous[part + 1] = part;
    if (part > 0) enqueue(part - 1);
    if (++steps % STEPS_A_SLICE === 0) yield;
  }
  ranks[length - 1] = NO_TOKEN;
  while (heap.size > 0) {
    if (++steps % STEPS_A_SLICE === 0) yield;
    const key = heap.pop();
    const part = positionOf(key);
    if (ranks[part] !== rankOf(key)) continue;
    const gone = next[part] as number;
    const after = next[gone] as number;
    next[part] = after;
    previous[after] = part;
    ranks[gone] = NO_TOKEN;
    enqueue(part);
    if (part > 0) enqueue(previous[part] as number);
  }
  for (let part = 0; part < length; part = next[part] as number) {
    visit(vocabulary.find(bytes, start + part, start + (next[part] as number)));
    if (++steps % STEPS_A_SLICE === 0) yield;
  }
}

/** Ranks are below 2^18 and positions below 2^31, so one number (53 bits) holds both. */
const POSITIONS = 2 ** 31;

/** Heap of possible merges. The lowest rank comes first, then the leftmost position. */
class RankHeap {
  readonly #keys: Float64Array;
  #size = 0;

  constructor(capacity: number) {
    this.#keys = new Float64Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  push(rank: number, position: number): void {
    const keys = this.#keys;
    const key = rank * POSITIONS + position;
    let hole = this.#size++;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = keys[parent] as number;
      if (above <= key) break;
      keys[hole] = above;
      hole = parent;
    }
    keys[hole] = key;
  }

  pop(): number {
    const keys = this.#keys;
    const first = keys[0] as number;
    const size = --this.#size;
    const key = keys[size] as number;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= size) break;
      if (child + 1 < size && (keys[child + 1] as number) < (keys[child] as number)) child++;
      if ((keys[child] as number) >= key) break;
      keys[hole] = keys[child] as number;
      hole = child;
    }
    keys[hole] = key;
    return first;
  }
}

function rankOf(key: number): number {
  return Math.floor(key / POSITIONS);
}

function positionOf(key: number): number {
  return key % POSITIONS;
}

/** Bytes up to which a linear search for the next merge is faster than a heap. */
export const SHORT_BYTES = 128;

/** Merges the bytes of a short piece. Searches for the lowest rank before each merge. All calls share one memory. */
export class ShortMerge {
  readonly ids = new Int32Array(SHORT_BYTES + 1);
  readonly #vocabulary: Vocabulary;
  readonly #starts = new Int32Array(SHORT_BYTES + 2);
  readonly #ranks = new Int32Array(SHORT_BYTES + 2);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** Merges a piece. Returns the number of its tokens, which are the first items of `ids`. */
  merge(bytes: Uint8Array, start: number, end: number): number {
    const vocabulary = this.#vocabulary;
    const [starts, ranks, ids] = [this.#starts, this.#ranks, this.ids];
    let parts = end - start;
    for (let part = 0; part < parts; part++) {
      starts[part] = start + part;
      ids[part] = vocabulary.idOf(bytes[start + part] as number);
      ranks[part] = part + 1 < parts ? vocabulary.find(bytes, start + part, start + part + 2) : NO_TOKEN;
    }
    starts[parts] = end;
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
      ids[at] = lowest;
      // `copyWithin` takes longer for so few numbers.
      for (let part = at + 1; part < parts; part++) {
        starts[part] = starts[part + 1] as number;
        ranks[part] = ranks[part + 1] as number;
        ids[part] = ids[part + 1] as number;
      }
      parts--;
      ranks[at] = at + 1 < parts ? this.#rankAt(bytes, at) : NO_TOKEN;
      if (at > 0) ranks[at - 1] = this.#rankAt(bytes, at - 1);
    }
  }

  #rankAt(bytes: Uint8Array, part: number): number {
    return this.#vocabulary.find(bytes, this.#starts[part] as number, this.#starts[part + 2] as number);
  }
}
