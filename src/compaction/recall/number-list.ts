const FIRST_LENGTH = 64;
/** A list that is full grows by this factor, so that little of its memory is unused. */
const GROWTH = 1.5;

/** List of whole numbers below 2³², four bytes each. */
export class NumberList {
  #items = new Uint32Array(FIRST_LENGTH);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#items.byteLength;
  }

  push(item: number): void {
    if (this.#length === this.#items.length) {
      const longer = new Uint32Array(Math.ceil(this.#length * GROWTH));
      longer.set(this.#items);
      this.#items = longer;
    }
    this.#items[this.#length] = item;
    this.#length += 1;
  }

  /** @param index less than the length */
  at(index: number): number {
    return this.#items[index] as number;
  }

  /** @param index less than the length */
  set(index: number, item: number): void {
    this.#items[index] = item;
  }

  /** Number of items that are at most `item`. The items must be ascending. */
  countUpTo(item: number): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) <= item) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
