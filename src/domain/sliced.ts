/**
 * Work that yields at points where it may be interrupted. A worker runs it in slices, so that a conversation of 100,000
 * messages does not block the event loop for others. The result does not depend on the slices.
 */
export type Sliced<Result> = Generator<void, Result>;

/** Items between two yields. The slowest work per item, parsing and checking messages, then runs about 10 ms at a time. */
const SLICE_ITEMS = 512;

/** Runs the work without interruption. */
export function runToEnd<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}

/** Calls `act` for each item, with a yield after each slice. */
export function* forEachInSlices<Item>(items: readonly Item[], act: (item: Item, index: number) => void): Sliced<void> {
  for (let index = 0; index < items.length; index += 1) {
    act(items[index] as Item, index);
    if (endsSlice(index)) yield;
  }
}

/** Decides whether a loop yields after the item at this index. */
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
