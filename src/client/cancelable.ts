/**
 * What is followed for as long as somebody listens. A generator answers `return` and `throw` behind what it waits for, and
 * nothing may ever come: a loop that is left, or a node stream that is destroyed (it throws), would be followed for ever.
 * @param follow ends its waiting, and itself, once the signal aborts
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
