const FIRST_LENGTH = 64;
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

  at(index: number): number {
    return this.#items[index] as number;
  }

  set(index: number, item: number): void {
    this.#items[index] = item;
  }

  /** Counts the items that are at most `item`. The items must be ascending. */
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
