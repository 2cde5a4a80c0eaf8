import { NumberList } from './number-list.ts';

const FIRST_SLOTS = 1_024;
/**
 * Maximum slots tried for a word. Ordinary words need fewer than 50, words made for equal hashes would take seconds.
 */
const MAX_TRIES = 64;
/** Maximum characters of a joined text. A search after a new word copies the last text, so it must be short. */
const MAX_JOINED_CHARS = 65_536;
/** End of each word in the joined texts. No word contains this character. */
const END = '\n';
const MAX_ONE_BYTE_UNIT = 255;

/** Both hashes of the last word. With two numbers, different words almost never have equal hashes. */
const hashes = new Uint32Array(2);

/** A word that contains a searched word, or is another form of it. */
interface LikeWord {
  readonly number: number;
  readonly isForm: boolean;
}

const LETTERS = /^\p{L}{4,}$/u;
const PAIRED = /^[\u3040-\u9fff\uac00-\ud7af\u0e00-\u0e7f]/;
const MIN_STEM = 4;
const LONG_STEM = 6;
/** Letters that differ between two forms of a word: `edit` and `editing`, `cancel` and `cancellation`. */
const MAX_ENDING = 3;
const MAX_LONG_ENDING = 6;

/** Start of a word that all its forms share. A text with digits, and a pair of ideographs, has no forms. */
function stemOf(word: string): string {
  if (!LETTERS.test(word) || PAIRED.test(word)) return word;
  const { length } = word;
  const isShort = length < LONG_STEM + MAX_ENDING;
  return word.slice(
    0,
    isShort ? Math.max(MIN_STEM, length - MAX_ENDING) : Math.max(LONG_STEM, length - MAX_LONG_ENDING),
  );
}

/** True if two words share their start and differ only in a short ending. */
function isForm(word: string, other: string): boolean {
  if (!LETTERS.test(word) || PAIRED.test(word) || !LETTERS.test(other)) return false;
  let shared = 0;
  while (shared < word.length && word[shared] === other[shared]) shared += 1;
  const [shorter, longer] = [word.length - shared, other.length - shared].toSorted((a, b) => a - b) as [number, number];
  if (shared >= LONG_STEM) return longer <= MAX_LONG_ENDING && shorter <= MAX_ENDING;
  return shared >= MIN_STEM && longer <= MAX_ENDING;
}

/** Numbers words from 0, in the order in which they are added. Finds a word, or all words that contain a text. */
export class WordTable {
  /** Number of a word plus 1, at the slot given by the word's hash. 0 for an empty slot. */
  #slots = new Uint32Array(FIRST_SLOTS);
  readonly #hashes = new NumberList();
  /** All words, each followed by `END`. Only a search for a part of a word reads these texts. */
  readonly #texts: string[] = [];
  #unjoined: string[] = [];
  #unjoinedChars = 0;
  /** End of each word in the concatenation of all texts. */
  readonly #ends = new NumberList();
  #hasWideUnits = false;

  get size(): number {
    return this.#ends.length;
  }

  get bytes(): number {
    const chars = this.#ends.length === 0 ? 0 : this.#ends.at(this.#ends.length - 1);
    const textBytes = this.#hasWideUnits ? 2 * chars : chars;
    return this.#slots.byteLength + this.#hashes.bytes + this.#ends.bytes + textBytes;
  }

  /** @returns the number of a word, given as part of a text, or −1 */
  find(text: string, start = 0, end = text.length): number {
    hashWord(text, start, end);
    return (this.#slots[this.#findSlot()] ?? 0) - 1;
  }

  /** @returns the number of the word, or −1 if too many words have similar hashes */
  add(text: string, start: number, end: number): number {
    hashWord(text, start, end);
    const slot = this.#findSlot();
    const known = this.#slots[slot];
    if (known === undefined) return -1;
    if (known !== 0) return known - 1;
    const number = this.size;
    this.#slots[slot] = number + 1;
    this.#hashes.push(hashes[0] as number);
    this.#hashes.push(hashes[1] as number);
    this.#keepText(text.slice(start, end));
    if (2 * this.size > this.#slots.length) this.#enlarge();
    return number;
  }

  /** Finds the numbers of all words that contain `part`, ascending. */
  *findInside(part: string): Generator<number> {
    this.#join();
    let start = 0;
    for (const text of this.#texts) {
      for (let at = text.indexOf(part); at !== -1; ) {
        const number = this.#ends.countUpTo(start + at);
        yield number;
        at = text.indexOf(part, this.#ends.at(number) - start);
      }
      start += text.length;
    }
  }

  /** Finds all words that contain `word` or are another form of it, ascending. */
  *findLike(word: string): Generator<LikeWord> {
    this.#join();
    const stem = stemOf(word);
    let start = 0;
    for (const text of this.#texts) {
      for (let at = text.indexOf(stem); at !== -1; ) {
        const number = this.#ends.countUpTo(start + at);
        const end = this.#ends.at(number) - start;
        const first = number === 0 ? 0 : Math.max(0, this.#ends.at(number - 1) - start);
        const found = text.slice(first, end - END.length);
        if (found.includes(word)) yield { number, isForm: isForm(word, found) };
        else if (at === first && isForm(word, found)) yield { number, isForm: true };
        at = text.indexOf(stem, end);
      }
      start += text.length;
    }
  }

  #keepText(word: string): void {
    const { length } = this.#ends;
    this.#ends.push((length === 0 ? 0 : this.#ends.at(length - 1)) + word.length + END.length);
    this.#hasWideUnits ||= isWide(word);
    this.#unjoined.push(word);
    this.#unjoinedChars += word.length + END.length;
    if (this.#unjoinedChars >= MAX_JOINED_CHARS) this.#join();
  }

  #join(): void {
    if (this.#unjoined.length === 0) return;
    const last = this.#texts.at(-1) ?? '';
    const isFull = last.length >= MAX_JOINED_CHARS;
    const joined = (isFull ? '' : last) + this.#unjoined.join(END) + END;
    this.#texts[isFull || this.#texts.length === 0 ? this.#texts.length : this.#texts.length - 1] = joined;
    this.#unjoined = [];
    this.#unjoinedChars = 0;
  }

  #findSlot(): number {
    const mask = this.#slots.length - 1;
    const [first, second] = hashes as unknown as readonly [number, number];
    for (let slot = first & mask, tries = 0; tries < MAX_TRIES; slot = (slot + 1) & mask, tries += 1) {
      const number = this.#slots[slot] as number;
      if (number === 0) return slot;
      if (this.#hashes.at(2 * number - 2) === first && this.#hashes.at(2 * number - 1) === second) return slot;
    }
    return -1;
  }

  #enlarge(): void {
    const slots = new Uint32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let number = 0; number < this.size; number += 1) {
      let slot = this.#hashes.at(2 * number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

function hashWord(text: string, start: number, end: number): void {
  let [first, second] = [0x811c9dc5, 0x9747b28c];
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    first = Math.imul(first ^ unit, 0x01000193);
    second = Math.imul((second << 13) | (second >>> 19), 5) + unit;
    second ^= second >>> 7;
  }
  first ^= first >>> 15;
  hashes[0] = Math.imul(first, 0x2c1b3c6d);
  hashes[1] = second;
}

function isWide(word: string): boolean {
  for (let at = 0; at < word.length; at += 1) if (word.charCodeAt(at) > MAX_ONE_BYTE_UNIT) return true;
  return false;
}
