import { positionOf, RankHeap, rankOf } from './rank-heap.ts';
import { NO_TOKEN, type Vocabulary } from './vocabulary.ts';

/** Steps between two yields: about a tenth of a millisecond. */
const STEPS_A_SLICE = 1_024;

export interface BytePiece {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Merges a long piece in O(n log n). Its parts form a linked list, and a heap returns the next pair. A pair that
 * changed since is recognized by its rank. `visit` receives the token ids in order. Needs 28 bytes of scratch memory
 * per byte.
 */
export function* mergeLong(
  vocabulary: Vocabulary,
  piece: BytePiece,
  visit: (id: number) => void,
): Generator<void, void> {
  const { bytes, start } = piece;
  const length = piece.end - start;
  // Part p begins at byte p of the piece and ends where next[p] begins. The first loop fills all arrays. Filling them at
  // once takes 50 ms at 10 MB.
  const next = new Int32Array(length);
  const previous = new Int32Array(length + 1);
  /** Rank of part p joined with its successor, or NO_TOKEN. Also NO_TOKEN for removed parts. */
  const ranks = new Int32Array(length);
  // A merge removes one entry and adds at most two.
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
