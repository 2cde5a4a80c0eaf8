/**
 * Work that yields at safe points, so that a conversation of 100,000 messages does not block the event loop. The result
 * does not depend on the interruptions. A worker thread would first have to copy contexts of 10 MB.
 */
export type Interruptible<Result> = Generator<void, Result>;

/** Items between two yields. The slowest work, parsing and checking messages, takes about 10 ms for this many items. */
const SLICE_ITEMS = 512;

export function runToEnd<Result>(work: Interruptible<Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}

export function* forEachInSlices<Item>(
  items: readonly Item[],
  act: (item: Item, index: number) => void,
): Interruptible<void> {
  for (let index = 0; index < items.length; index += 1) {
    act(items[index] as Item, index);
    if (endsSlice(index)) yield;
  }
}

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
