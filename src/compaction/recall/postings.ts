import { NumberList } from './number-list.ts';

/** Bytes of the first slice of a list. Each further slice is twice as large, up to the maximum. */
const FIRST_SLICE = 8;
const MAX_DOUBLINGS = 5;
/** Number of last bytes of each slice, which hold the position of the next slice. */
const POINTER = 4;
const FIRST_BYTES = 4_096;
const GROWTH = 1.5;

/**
 * Lists of ascending numbers in one array of bytes. A list is a chain of slices with the differences of its numbers, in
 * seven bits a byte. Most differences take one or two bytes, where an array of numbers takes eight bytes a number.
 */
export class Postings {
  #pool = new Uint8Array(FIRST_BYTES);
  #used = 0;
  readonly #firsts = new NumberList();
  /** Place of the next byte of each list, and of the end of its last slice. */
  readonly #places = new NumberList();
  readonly #ends = new NumberList();
  readonly #doublings = new NumberList();
  /** Last number of each list plus 1. 0 for an empty list. */
  readonly #lasts = new NumberList();
  readonly #counts = new NumberList();

  get length(): number {
    return this.#firsts.length;
  }

  get bytes(): number {
    const lists = [this.#firsts, this.#places, this.#ends, this.#doublings, this.#lasts, this.#counts];
    return lists.reduce((sum, { bytes }) => sum + bytes, this.#pool.byteLength);
  }

  open(): void {
    const start = this.#takeSlice(0);
    this.#firsts.push(start);
    this.#places.push(start);
    this.#ends.push(endOf(start, 0));
    this.#doublings.push(0);
    this.#lasts.push(0);
    this.#counts.push(0);
  }

  /** Adds a number that is at least the list's last number. The last number itself is not added again. */
  add(list: number, item: number): void {
    const last = this.#lasts.at(list);
    if (last === item + 1) return;
    this.#lasts.set(list, item + 1);
    this.#counts.set(list, this.#counts.at(list) + 1);
    let left = item + 1 - last;
    while (left > 127) {
      this.#write(list, (left & 127) | 128);
      left >>>= 7;
    }
    this.#write(list, left);
  }

  count(list: number): number {
    return this.#counts.at(list);
  }

  read(list: number, visit: (item: number) => void): void {
    const stop = this.#places.at(list);
    let place = this.#firsts.at(list);
    let doublings = 0;
    let end = endOf(place, doublings);
    let [last, difference, shift] = [0, 0, 0];
    while (place !== stop) {
      if (place === end) {
        place = this.#readPointer(end);
        doublings = Math.min(doublings + 1, MAX_DOUBLINGS);
        end = endOf(place, doublings);
      }
      const byte = this.#pool[place] as number;
      place += 1;
      difference |= (byte & 127) << shift;
      shift += 7;
      if (byte > 127) continue;
      last += difference;
      visit(last - 1);
      difference = 0;
      shift = 0;
    }
  }

  #write(list: number, byte: number): void {
    let place = this.#places.at(list);
    const end = this.#ends.at(list);
    if (place === end) {
      const doublings = Math.min(this.#doublings.at(list) + 1, MAX_DOUBLINGS);
      place = this.#takeSlice(doublings);
      for (let at = 0; at < POINTER; at += 1) this.#pool[end + at] = place >>> (8 * at);
      this.#doublings.set(list, doublings);
      this.#ends.set(list, endOf(place, doublings));
    }
    this.#pool[place] = byte;
    this.#places.set(list, place + 1);
  }

  #readPointer(at: number): number {
    const byte = (index: number): number => this.#pool[at + index] as number;
    return (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
  }

  #takeSlice(doublings: number): number {
    const start = this.#used;
    this.#used += FIRST_SLICE << doublings;
    if (this.#used > this.#pool.length) {
      const larger = new Uint8Array(Math.ceil(this.#used * GROWTH));
      larger.set(this.#pool);
      this.#pool = larger;
    }
    return start;
  }
}

function endOf(start: number, doublings: number): number {
  return start + (FIRST_SLICE << doublings) - POINTER;
}
