import type { BytePiece } from './merge.ts';

const PAIRS = 1 << 15;
/** Numbers of a slot: hash, offset of the bytes, sizes (0: free), offset of the ids. */
const FIELDS = 4;
/** Low bits of a slot's sizes, which hold the number of tokens. The higher bits hold the bytes of the piece. */
const COUNT_BITS = 12;
const COUNT_MASK = (1 << COUNT_BITS) - 1;
/** Maximum bytes of a piece. A sentence in Japanese may have several hundred. */
export const KNOWN_BYTES = 1_024;
const ALL_BYTES = 1 << 20;
const ALL_IDS = 1 << 19;

/**
 * Remembers the tokens of pieces, because words and phrases repeat. A known piece needs no merges and no look-up in the
 * vocabulary, which exceeds the caches of a processor. Each hash has two slots, and a new piece replaces the older piece
 * of the two. Once the memory of token ids is full, all pieces are forgotten. At most 4.2 MB, of which the system allocates only the used pages.
 */
export class KnownPieces {
  readonly #ids = new Int32Array(ALL_IDS);
  readonly #slots = new Int32Array(2 * PAIRS * FIELDS);
  readonly #bytes = new Uint8Array(ALL_BYTES);
  #byteEnd = 0;
  #idEnd = 0;

  /** @returns the slot of the piece `bytes[start…end)`, which `visit` takes, or −1 if the piece is unknown */
  find(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    const slot = pairOf(hash);
    if (slots[slot] === hash && this.#equals(slot, bytes, start, end)) return slot;
    const other = slot + FIELDS;
    return slots[other] === hash && this.#equals(other, bytes, start, end) ? other : -1;
  }

  /** Calls `visit` with each token of the piece, in order. */
  visit(slot: number, visit: (id: number) => void): void {
    const first = this.#slots[slot + 3] as number;
    const end = first + ((this.#slots[slot + 2] as number) & COUNT_MASK);
    for (let at = first; at < end; at++) visit(this.#ids[at] as number);
  }

  #equals(slot: number, bytes: Uint8Array, start: number, end: number): boolean {
    const slots = this.#slots;
    if ((slots[slot + 2] as number) >> COUNT_BITS !== end - start) return false;
    const own = this.#bytes;
    let offset = slots[slot + 1] as number;
    for (let index = start; index < end; index++) if (own[offset++] !== bytes[index]) return false;
    return true;
  }

  add(hash: number, { bytes, start, end }: BytePiece, ids: ArrayLike<number>, count: number): void {
    if (this.#byteEnd + KNOWN_BYTES > ALL_BYTES || this.#idEnd + KNOWN_BYTES > ALL_IDS) this.#clear();
    const slots = this.#slots;
    const pair = pairOf(hash);
    // The older of two pieces is replaced. The newer piece has the larger offset, and a free slot has the offset 0.
    const slot = (slots[pair + 1] as number) > (slots[pair + FIELDS + 1] as number) ? pair + FIELDS : pair;
    slots[slot] = hash;
    slots[slot + 1] = this.#byteEnd;
    slots[slot + 2] = ((end - start) << COUNT_BITS) | count;
    slots[slot + 3] = this.#idEnd;
    for (let index = start; index < end; index++) this.#bytes[this.#byteEnd++] = bytes[index] as number;
    for (let index = 0; index < count; index++) this.#ids[this.#idEnd++] = ids[index] as number;
  }

  #clear(): void {
    this.#slots.fill(0);
    this.#byteEnd = 0;
    this.#idEnd = 0;
  }
}

/** Chooses the pair of slots by the low bits of the hash, after the high bits are mixed into the low bits. */
function pairOf(hash: number): number {
  return ((hash ^ (hash >>> 15)) & (PAIRS - 1)) * 2 * FIELDS;
}
