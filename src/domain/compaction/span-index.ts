/** Where a group's members begin and end; positions, inclusive. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly group: number;
}

/**
 * Spans, to be asked which of them go around a position. Each is answered once, in O(log n): a history whose rounds all
 * interlock would otherwise be read once for every round (10,000 messages: 160 ms instead of 4).
 */
export class SpanIndex {
  readonly #spans: readonly Span[];
  readonly #leaves: number;
  /** a binary tree as a heap lies in memory: under each node the furthest `last` that was not answered yet */
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

  /** The spans with `first < position < last` that were not answered before. */
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
