/** Ranks are below 2^18 and positions below 2^31. Both fit into the 53 bits of one number, with the rank first. */
const POSITIONS = 2 ** 31;

/** Binary heap of (rank, position). The lowest rank comes first, the leftmost among equals. */
export class RankHeap {
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

  /** Removes the first entry. `rankOf` and `positionOf` decode it. */
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

export function rankOf(key: number): number {
  return Math.floor(key / POSITIONS);
}

export function positionOf(key: number): number {
  return key % POSITIONS;
}
