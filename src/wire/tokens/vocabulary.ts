import type { Encoding } from '../../domain/model.ts';

export const NO_TOKEN = 0x7fffffff;

/**
 * All tokens of an encoding by their bytes. An id is also the merge rank: lower ranks are merged first. Typed arrays
 * replace a Map of strings, because tokens need not be valid UTF-8. 7.0 MB for o200k_base, 3.6 MB for cl100k_base.
 */
export class Vocabulary {
  #size = 0;
  #longest = 0;
  readonly #bytes: Uint8Array;
  readonly #offsets: Int32Array;
  /** A hash table with open addressing. Each slot has a hash and id + 1. A free slot has 0. */
  readonly #slots: Int32Array;
  readonly #mask: number;
  /** Token of each pair of bytes, which half of all look-ups are for: every merge starts with two bytes. */
  readonly #pairs = new Int32Array(0x10000).fill(NO_TOKEN);
  readonly #singles = new Int32Array(0x100).fill(NO_TOKEN);

  constructor(capacity: { readonly tokens: number; readonly bytes: number }) {
    this.#bytes = new Uint8Array(capacity.bytes);
    this.#offsets = new Int32Array(capacity.tokens + 1);
    const slots = 2 ** Math.ceil(Math.log2(capacity.tokens * 2));
    this.#slots = new Int32Array(slots * 2);
    this.#mask = slots - 1;
  }

  get size(): number {
    return this.#size;
  }

  get longest(): number {
    return this.#longest;
  }

  add(token: Uint8Array): void {
    const offset = this.#offsets[this.#size] as number;
    this.#bytes.set(token, offset);
    const hash = hashBytes(token, 0, token.length);
    let slot = fold(hash) & this.#mask;
    while (this.#slots[slot * 2 + 1] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots[slot * 2] = hash;
    this.#slots[slot * 2 + 1] = this.#size + 1;
    if (token.length === 1) this.#singles[token[0] as number] = this.#size;
    if (token.length === 2) this.#pairs[((token[0] as number) << 8) | (token[1] as number)] = this.#size;
    this.#longest = Math.max(this.#longest, token.length);
    this.#size++;
    this.#offsets[this.#size] = offset + token.length;
  }

  idOf(byte: number): number {
    return this.#singles[byte] as number;
  }

  /** @returns NO_TOKEN if `bytes[start…end)` is no token */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (end - start === 2) return this.#pairs[((bytes[start] as number) << 8) | (bytes[start + 1] as number)] as number;
    if (end - start > this.#longest) return NO_TOKEN;
    return this.findHashed(hashBytes(bytes, start, end), bytes, start, end);
  }

  findHashed(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    for (let slot = fold(hash) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const entry = slots[slot * 2 + 1] as number;
      if (entry === 0) return NO_TOKEN;
      if (slots[slot * 2] === hash && this.#equals(entry - 1, bytes, start, end)) return entry - 1;
    }
  }

  lengthOf(id: number): number {
    return (this.#offsets[id + 1] as number) - (this.#offsets[id] as number);
  }

  #equals(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#bytes;
    let offset = this.#offsets[id] as number;
    if ((this.#offsets[id + 1] as number) - offset !== end - start) return false;
    for (let index = start; index < end; index++) if (own[offset++] !== bytes[index]) return false;
    return true;
  }
}

export const FNV_OFFSET = 0x811c9dc5 | 0;
export const FNV_PRIME = 0x01000193;

function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = FNV_OFFSET;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (bytes[index] as number), FNV_PRIME);
  return hash;
}

function fold(hash: number): number {
  return hash ^ (hash >>> 15);
}

const TOKENS_A_SLICE = 4_096;
const HEADER = '! 0 ';
const SPACE = 0x20;
const PADDING = 0x3d;

/**
 * Imports a token file: base64 tokens in the order of their ids, as one literal of 2.3 or 1.1 MB. Blocks the event loop
 * once for 12–20 ms.
 */
export async function importRanks(encoding: Encoding): Promise<string> {
  const module =
    encoding === 'o200k_base'
      ? await import('js-tiktoken/ranks/o200k_base')
      : await import('js-tiktoken/ranks/cl100k_base');
  const ranks = module.default.bpe_ranks;
  // Older token files, e.g. for gpt2, have several lines.
  if (!ranks.startsWith(HEADER) || ranks.includes('\n'))
    throw new Error(
      `js-tiktoken has a token table of unknown format for ${encoding}. Install the version in turnfold's lock file`,
    );
  return ranks.slice(HEADER.length);
}

/** Yields about once per millisecond, 50 times for o200k_base. */
export function* readVocabulary(ranks: string): Generator<void, Vocabulary> {
  const vocabulary = new Vocabulary({ tokens: countTokens(ranks), bytes: Math.ceil(ranks.length * 0.75) });
  const token = new Uint8Array(256);
  let length = 0;
  let bits = 0;
  let bitCount = 0;
  for (let index = 0; index <= ranks.length; index++) {
    const char = index < ranks.length ? ranks.charCodeAt(index) : SPACE;
    if (char === SPACE) {
      vocabulary.add(token.subarray(0, length));
      length = bitCount = 0;
      if (vocabulary.size % TOKENS_A_SLICE === 0) yield;
    } else if (char !== PADDING) {
      bits = (bits << 6) | sextet(char);
      bitCount += 6;
      if (bitCount >= 8) {
        bitCount -= 8;
        token[length++] = bits >> bitCount;
      }
    }
  }
  return vocabulary;
}

function countTokens(ranks: string): number {
  let tokens = 1;
  for (let index = ranks.indexOf(' '); index >= 0; index = ranks.indexOf(' ', index + 1)) tokens++;
  return tokens;
}

function sextet(char: number): number {
  if (char >= 0x61) return char - 0x47;
  if (char >= 0x41) return char - 0x41;
  if (char >= 0x30) return char + 4;
  return char === 0x2b ? 62 : 63;
}
