export interface Dense {
  readonly index: number;
  readonly density: number;
}

/** Queue of items. The densest item comes first, and among equals the item with the smaller index. */
export class DensityQueue {
  readonly #items: Dense[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: Dense): void {
    let at = this.#items.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#items[parent] as Dense;
      if (!isBefore(item, above)) break;
      this.#items[at] = above;
      at = parent;
    }
    this.#items[at] = item;
  }

  pop(): Dense | undefined {
    const [top] = this.#items;
    const item = this.#items.pop();
    if (item !== undefined && this.size > 0) this.#sinkFromTop(item);
    return top;
  }

  #sinkFromTop(item: Dense): void {
    let at = 0;
    for (let child = 1; child < this.size; child = 2 * at + 1) {
      const [left, right] = [this.#items[child] as Dense, this.#items[child + 1]];
      const first = right !== undefined && isBefore(right, left) ? right : left;
      if (isBefore(item, first)) break;
      this.#items[at] = first;
      at = first === left ? child : child + 1;
    }
    this.#items[at] = item;
  }
}

function isBefore(one: Dense, other: Dense): boolean {
  return one.density > other.density || (one.density === other.density && one.index < other.index);
}
