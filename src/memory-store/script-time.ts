/**
 * A clock that stands still while synchronous code runs, as TIME does inside a script of Redis. An operation that reads the time
 * twice then gets the same value.
 * @param read returns ms since epoch
 */
export function scriptTime(read: () => number): () => number {
  let held: number | undefined;
  return () => {
    if (held === undefined) {
      held = read();
      queueMicrotask(() => {
        held = undefined;
      });
    }
    return held;
  };
}
