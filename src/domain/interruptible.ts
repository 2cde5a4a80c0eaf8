/**
 * A long computation that yields at safe points, so that a conversation of 100,000 messages does not block the event
 * loop. The result does not depend on where it was interrupted.
 */
export type Interruptible<Result> = Generator<void, Result>;

/**
 * Number of items between two yields. A slice of the slowest work, parsing and checking messages, takes about 10 ms.
 */
const SLICE_ITEMS = 512;

/** Runs the computation to its end without interruption. */
export function runToEnd<Result>(work: Interruptible<Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}

/** Calls `act` for each item and yields after every `SLICE_ITEMS` items. */
export function* forEachInSlices<Item>(
  items: readonly Item[],
  act: (item: Item, index: number) => void,
): Interruptible<void> {
  for (let index = 0; index < items.length; index += 1) {
    act(items[index] as Item, index);
    if (endsSlice(index)) yield;
  }
}

/** Decides whether a loop should yield to other work after the item at this index. */
export function endsSlice(index: number): boolean {
  return (index + 1) % SLICE_ITEMS === 0;
}

export function* mapInSlices<Item, Mapped>(
  items: readonly Item[],
  map: (item: Item, index: number) => Mapped,
): Interruptible<Mapped[]> {
  const mapped: Mapped[] = [];
  yield* forEachInSlices(items, (item, index) => mapped.push(map(item, index)));
  return mapped;
}
