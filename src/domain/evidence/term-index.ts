/** Maps from text to index. More maps make each one smaller, so that none takes long when it grows. */
const MAPS = 64;
/** Number of slots, a power of two. */
const SLOTS = 131_072;

/**
 * Numbers texts from 0 in the order in which they are first seen. A single map of 500,000 texts holds the event loop for
 * 90 ms when it grows.
 *
 * A part of a longer text is first compared with the last text of the same hash. Most parts were seen before, and are found
 * without a new string. The hash has no secret, so the maps, and not the slots, decide about all others. Texts that were made
 * to have equal hashes are therefore only as slow as new texts.
 */
export class TermIndex {
  readonly #maps = Array.from({ length: MAPS }, () => new Map<string, number>());
  readonly #texts: string[] = [];
  /** Index of the last text with a hash, plus 1. Zero: no text has this hash. */
  readonly #slots = new Int32Array(SLOTS);

  /** Number of texts. The next new text gets this index. */
  get size(): number {
    return this.#texts.length;
  }

  /** @returns the index of the text, which is `size` before the call if the text is new */
  add(text: string): number {
    return this.addPart(text, 0, text.length);
  }

  /** Adds the part of a text from `from` to before `to`. The same as `add` of that part. */
  addPart(text: string, from: number, to: number): number {
    const slot = hashOf(text, from, to);
    const seen = this.#textAt(slot, text, from, to);
    if (seen !== undefined) return seen;
    const part = text.slice(from, to);
    const map = this.#mapOf(part);
    let index = map.get(part);
    if (index === undefined) {
      index = this.#texts.length;
      map.set(part, index);
      this.#texts.push(part);
    }
    this.#slots[slot] = index + 1;
    return index;
  }

  /** @returns the index of a part that was added, or undefined */
  findPart(text: string, from: number, to: number): number | undefined {
    const slot = hashOf(text, from, to);
    if (this.#slots[slot] === 0) return undefined;
    const part = text.slice(from, to);
    return this.#textAt(slot, text, from, to) ?? this.#mapOf(part).get(part);
  }

  textOf(index: number): string {
    return this.#texts[index] as string;
  }

  #textAt(slot: number, text: string, from: number, to: number): number | undefined {
    const index = (this.#slots[slot] as number) - 1;
    if (index < 0) return undefined;
    const seen = this.#texts[index] as string;
    if (seen.length !== to - from) return undefined;
    for (let at = 0; at < seen.length; at += 1) {
      if (seen.charCodeAt(at) !== text.charCodeAt(from + at)) return undefined;
    }
    return index;
  }

  #mapOf(text: string): Map<string, number> {
    return this.#maps[spread(text)] as Map<string, number>;
  }
}

/** FNV-1a over UTF-16 units, folded to the number of slots. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

/** Mixes the first, the middle and the last unit: names of one kind differ at different places. */
function spread(text: string): number {
  const last = text.length - 1;
  return (7 * text.charCodeAt(0) + 5 * text.charCodeAt(last >> 1) + 3 * text.charCodeAt(last)) % MAPS;
}
