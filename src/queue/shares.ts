/**
 * How many of a role's jobs at a time each shard of its queue gets: as many as all the others, or one more, and one at least,
 * because a shard without would wait for another worker. What does not go evenly goes to the shards from `first` on: where
 * each worker has another `first`, no shard has more than the others.
 */
export function shareOut(concurrency: number, shards: number, first = 0): number[] {
  return Array.from({ length: shards }, (_, shard) => {
    const place = (shard - first + shards) % shards;
    return Math.max(1, Math.floor((concurrency + shards - 1 - place) / shards));
  });
}

/** What a worker takes at a time in all: its concurrency, or one of each shard where those are more. */
export function totalConcurrency(concurrency: number, shards: number): number {
  return Math.max(concurrency, shards);
}
