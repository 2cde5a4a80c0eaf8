/** Row of a version. It stands behind `head`, the last message when the version was made. */
export interface Divider {
  readonly version: number;
  readonly head: number;
}

export type Row =
  | { readonly kind: 'message'; readonly seq: number }
  | { readonly kind: 'version'; readonly version: number };

export class RowIndex {
  readonly #head: number;
  readonly #dividers: readonly Divider[];

  constructor(head: number, dividers: readonly Divider[]) {
    this.#head = head;
    this.#dividers = dividers
      .filter((divider) => divider.head <= head)
      .toSorted((one, other) => one.head - other.head || one.version - other.version);
  }

  get count(): number {
    return this.#head + this.#dividers.length;
  }

  at(index: number): Row {
    const before = this.#countDividers((divider, order) => divider.head + order < index);
    const divider = this.#dividers[before];
    if (divider !== undefined && divider.head + before === index) return { kind: 'version', version: divider.version };
    return { kind: 'message', seq: index + 1 - before };
  }

  indexOf(seq: number): number {
    return seq - 1 + this.#countDividers((divider) => divider.head < seq);
  }

  /**
   * Finds the first and the last message among the rows from `first` to before `last`. If these rows have no message,
   * both are 0.
   */
  seqsBetween(first: number, last: number): [from: number, to: number] {
    const seqs = Array.from({ length: Math.max(0, last - first) }, (_, offset) => this.at(first + offset)).flatMap(
      (row) => (row.kind === 'message' ? [row.seq] : []),
    );
    return [seqs[0] ?? 0, seqs.at(-1) ?? 0];
  }

  /** @param isBefore holds for the first dividers only, so a binary search finds their number */
  #countDividers(isBefore: (divider: Divider, order: number) => boolean): number {
    let [low, high] = [0, this.#dividers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const divider = this.#dividers[middle];
      if (divider !== undefined && isBefore(divider, middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
