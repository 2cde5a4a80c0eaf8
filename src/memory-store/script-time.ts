/**
 * Returns a clock that stands still while synchronous code runs, like TIME inside a Lua script of Redis. An operation that
 * reads the time twice gets the same value.
 * @param read returns ms since epoch
 */
export function scriptTime(read: () => number): () => number {
  let current: number | undefined;
  return () => {
    if (current === undefined) {
      current = read();
      queueMicrotask(() => {
        current = undefined;
      });
    }
    return current;
  };
}
