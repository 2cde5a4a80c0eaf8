/**
 * Makes `return` and `throw` of an async generator abort its current wait. A plain generator runs `return` only after
 * the wait, so a loop that the caller left would run until the next event.
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
