/** Positions of a group's first and last member. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly group: number;
}

/**
 * Answers which groups reach around a position. Each group is answered once, in O(log n). A history whose rounds all
 * interlock would otherwise be read once per round (10,000 messages: 160 ms instead of 4 ms).
 */
export class SpanIndex {
  readonly #spans: readonly Span[];
  readonly #leaves: number;
  /**
   * Binary tree in heap order. Each node has the largest `last` below it among the spans that were not answered yet.
   */
  readonly #furthest: Int32Array;

  /** @param spans ascending by `first` */
  constructor(spans: readonly Span[]) {
    this.#spans = spans;
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, spans.length)));
    this.#furthest = new Int32Array(2 * this.#leaves).fill(-1);
    spans.forEach(({ last }, index) => {
      this.#furthest[this.#leaves + index] = last;
    });
    for (let node = this.#leaves - 1; node > 0; node -= 1) this.#update(node);
  }

  /** Returns the spans with `first < position < last` that were not returned before. */
  takeAround(position: number): Span[] {
    const found: Span[] = [];
    this.#collect({ position, found }, 1, 0, this.#leaves);
    return found;
  }

  /** Visits the leaves `from…from + width − 1` below a node. */
  #collect(
    search: { readonly position: number; readonly found: Span[] },
    node: number,
    from: number,
    width: number,
  ): void {
    const span = this.#spans[from];
    if (span === undefined || span.first >= search.position) return;
    if ((this.#furthest[node] as number) <= search.position) return;
    if (width === 1) {
      search.found.push(span);
      this.#furthest[node] = -1;
      return;
    }
    this.#collect(search, 2 * node, from, width / 2);
    this.#collect(search, 2 * node + 1, from + width / 2, width / 2);
    this.#update(node);
  }

  #update(node: number): void {
    const [left, right] = [this.#furthest[2 * node] as number, this.#furthest[2 * node + 1] as number];
    this.#furthest[node] = Math.max(left, right);
  }
}
