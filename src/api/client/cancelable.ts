/**
 * Ends an async generator at once when the caller leaves its loop. A plain generator first waits for its next event.
 * @param follow creates the generator, which must end once the signal aborts
 */
export function cancelable<Item>(
  follow: (left: AbortSignal) => AsyncGenerator<Item, void, void>,
): AsyncGenerator<Item, void, void> {
  const leaving = new AbortController();
  const items = follow(leaving.signal);
  const [end, fail] = [items.return.bind(items), items.throw.bind(items)];
  items.return = (value) => {
    leaving.abort();
    return end(value);
  };
  items.throw = (error) => {
    leaving.abort();
    return fail(error);
  };
  return items;
}
