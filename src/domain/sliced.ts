/**
 * Work that yields where it may be interrupted. A worker runs it in slices, so that a conversation of 100,000 messages does not
 * hold the event loop for the others; the result is the same as in one go.
 */
export type Sliced<Result> = Generator<void, Result>;

/** Items between two yields. At the dearest, parsing and checking a message, this is about 10 ms. */
const SLICE_ITEMS = 512;

/** Runs the work in one go. */
export function runToEnd<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}

/** Passes the items, with a yield after each slice of them. */
export function* forEachInSlices<Item>(items: readonly Item[], act: (item: Item, index: number) => void): Sliced<void> {
  for (let index = 0; index < items.length; index += 1) {
    act(items[index] as Item, index);
    if (endsSlice(index)) yield;
  }
}

/** Whether a loop of its own that has done with the item at this index is to yield. */
export function endsSlice(index: number): boolean {
  return (index + 1) % SLICE_ITEMS === 0;
}

export function* mapInSlices<Item, Mapped>(
  items: readonly Item[],
  map: (item: Item, index: number) => Mapped,
): Sliced<Mapped[]> {
  const mapped: Mapped[] = [];
  yield* forEachInSlices(items, (item, index) => mapped.push(map(item, index)));
  return mapped;
}
