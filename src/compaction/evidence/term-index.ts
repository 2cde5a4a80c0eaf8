const FIRST_SLOTS = 256;
const MAX_PROBES = 16;
/** Number of maps for texts without a slot. Many small maps grow faster than one large map. */
const MAPS = 64;

/**
 * Numbers texts in the order in which they are first seen. A part of a longer text is compared in place, so that a
 * known part needs no new string.
 *
 * The hash has no secret, so an author could write texts of equal hashes. Texts that find no slot near their hash are
 * kept in maps, and cost no more than a map does.
 */
export class TermIndex {
  readonly #texts: string[] = [];
  /** Hash and index of each text, side by side. The index is increased by 1, so that 0 marks a free slot. */
  #slots = new Int32Array(2 * FIRST_SLOTS);
  #maps: readonly Map<string, number>[] | undefined;

  get size(): number {
    return this.#texts.length;
  }

  /** @returns the index of the text, which is `size` before the call if the text is new */
  add(text: string): number {
    return this.addPart(text, 0, text.length);
  }

  addPart(text: string, from: number, to: number): number {
    const known = this.findPart(text, from, to);
    if (known !== undefined) return known;
    const index = this.#texts.length;
    const part = text.slice(from, to);
    this.#texts.push(part);
    this.#place(part, index);
    if (4 * this.#texts.length > this.#slots.length) this.#grow();
    return index;
  }

  findPart(text: string, from: number, to: number): number | undefined {
    const hash = hashOf(text, from, to);
    const slots = this.#slots;
    const last = slots.length - 2;
    for (let probe = 0, at = (2 * hash) & last; probe < MAX_PROBES; probe += 1, at = (at + 2) & last) {
      const index = (slots[at + 1] as number) - 1;
      if (index < 0) break;
      if (slots[at] === hash && isPart(this.#texts[index] as string, text, from, to)) return index;
    }
    return this.#maps === undefined ? undefined : mapOf(this.#maps, text.slice(from, to)).get(text.slice(from, to));
  }

  textOf(index: number): string {
    return this.#texts[index] as string;
  }

  #place(text: string, index: number): void {
    const hash = hashOf(text, 0, text.length);
    const slots = this.#slots;
    const last = slots.length - 2;
    for (let probe = 0, at = (2 * hash) & last; probe < MAX_PROBES; probe += 1, at = (at + 2) & last) {
      if (slots[at + 1] !== 0) continue;
      slots[at] = hash;
      slots[at + 1] = index + 1;
      return;
    }
    this.#maps ??= Array.from({ length: MAPS }, () => new Map<string, number>());
    mapOf(this.#maps, text).set(text, index);
  }

  /** After growth, texts in maps may get a slot as well. */
  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (const [index, text] of this.#texts.entries()) this.#place(text, index);
  }
}

function isPart(part: string, text: string, from: number, to: number): boolean {
  if (part.length !== to - from) return false;
  for (let at = 0; at < part.length; at += 1) if (part.charCodeAt(at) !== text.charCodeAt(from + at)) return false;
  return true;
}

/** FNV-1a over UTF-16 units, with its high bits mixed into the low ones. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** Chooses a map by the first, the middle and the last unit, because names of one kind differ at different places. */
function mapOf(maps: readonly Map<string, number>[], text: string): Map<string, number> {
  const last = text.length - 1;
  const mixed = 7 * text.charCodeAt(0) + 5 * text.charCodeAt(last >> 1) + 3 * text.charCodeAt(last);
  return maps[mixed % MAPS] as Map<string, number>;
}
