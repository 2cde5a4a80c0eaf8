/** Queues and the jobs in them. Compaction and summarization share a hash tag: in Cluster a parent and its children must. */
export const QUEUES = { turn: 'turn', compaction: 'compaction', summarization: 'summarization' } as const;

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

/**
 * Prefix of one shard of the queues, its hash tag first.
 * @param namespace keeps several sets of queues apart in one Redis; no colon
 */
export function queuePrefix(shard: number, namespace = ''): string {
  return namespace === '' ? `{tq${shard}}` : `{tq${shard}}.${namespace}`;
}

/** Every job has a priority, 1 or more: the queue drains jobs without one before all that have one. Lower goes first. */
export const HIGHEST_PRIORITY = 1;
export const DEFAULT_PRIORITY = 10;
/** BullMQ takes no larger one. */
export const LOWEST_PRIORITY = 2_097_151;

/** Times in ms. A killed worker's job is found within lock + stalled check. */
export const QUEUE_TIMES = {
  lockMs: 10_000,
  stalledCheckMs: 5_000,
  inFlightDelayMs: 1_000,
  /** the first; each is twice the one before */
  newerDelayMs: 1_000,
} as const;

/** How often a job of a newer program is left to others: for a minute, in which one of those would have taken it. */
export const NEWER_PAYLOAD_TRIES = 6;

/** Runs of one summarization job before it answers its failure as a value. */
export const SUMMARIZATION_ATTEMPTS = 3;
export const SUMMARIZATION_BACKOFF_MS = 1_000;
