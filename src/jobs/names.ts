/** Queues and the jobs in them. Compaction and summarization share a hash tag: in Cluster a parent and its children must. */
export const QUEUES = { turn: 'turn', compaction: 'compaction', summarization: 'summarization' } as const;

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

/** Hash tag and prefix of one shard of the queues. */
export function queuePrefix(shard: number): string {
  return `{tq${shard}}`;
}

/** Every wake has a priority: the queue drains jobs without one before all that have one. */
export const DEFAULT_PRIORITY = 10;

/** Times in ms. A killed worker's job is found within lock + stalled check. */
export const QUEUE_TIMES = { lockMs: 10_000, stalledCheckMs: 5_000, inFlightDelayMs: 1_000 } as const;

/** Runs of one summarization job before it answers its failure as a value. */
export const SUMMARIZATION_ATTEMPTS = 3;
export const SUMMARIZATION_BACKOFF_MS = 1_000;
