/** The queues. Compaction and summarization share a hash tag because a parent job and its children must, in a Cluster. */
export const QUEUES = { turn: 'turn', compaction: 'compaction', summarization: 'summarization' } as const;

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

/**
 * Key prefix of one shard of the queues. It starts with the hash tag.
 * @param namespace separates several sets of queues in one Redis, contains no colon
 */
export function queuePrefix(shard: number, namespace = ''): string {
  return namespace === '' ? `{tq${shard}}` : `{tq${shard}}.${namespace}`;
}

/** A lower number runs first. Every job has a priority, because BullMQ drains jobs without one before all others. */
export const HIGHEST_PRIORITY = 1;
export const DEFAULT_PRIORITY = 10;
/** The largest number that BullMQ accepts. */
export const LOWEST_PRIORITY = 2_097_151;

/** Times in ms. The job of a killed worker is delivered again within `lockMs` + `stalledCheckMs`. */
export const QUEUE_TIMES = { lockMs: 10_000, stalledCheckMs: 5_000 } as const;
