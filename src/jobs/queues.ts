import { DEFAULT_PREFIX, hashTag } from '../domain/namespace.ts';

/**
 * Names of the queues. BullMQ requires a parent (compaction) and its children (summarization) to share a Cluster slot.
 */
export const QUEUES = { turn: 'turn', compaction: 'compaction', summarization: 'summarization' } as const;

/** Queue to which services in any language add turns. This queue has one shard. */
export const INBOX_QUEUE = 'inbox';

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES] | typeof INBOX_QUEUE;

export const INBOX_LIMITS = {
  /** Large enough for a message of 1 MiB in which each character is escaped as `\uXXXX`. */
  dataCharacters: 8_388_608,
  maxDepth: 40,
  keptSeconds: 86_400,
  keptJobs: 1_000,
} as const;

/** Prefix of a queue's keys, with the hash tag that determines the Cluster slot. */
export function queuePrefix(shard: number, prefix = DEFAULT_PREFIX): string {
  return hashTag(prefix, 'tq', shard);
}

/** A lower number runs first. Every job has a priority, because BullMQ runs jobs without one before all others. */
export const HIGHEST_PRIORITY = 1;
export const DEFAULT_PRIORITY = 10;
/** Priority of work that a dead or stopped worker had begun. */
export const BEGUN_PRIORITY = DEFAULT_PRIORITY - 1;
export const LOWEST_PRIORITY = 2_097_151;

/** The job of a killed worker is delivered again within `lockMs` + `stalledCheckMs`. */
export const QUEUE_TIMES = { lockMs: 10_000, stalledCheckMs: 5_000 } as const;

/**
 * Seconds after which an idle worker looks for jobs without a signal, because another worker may have died with the
 * signal.
 */
export const IDLE_LOOK_SECONDS = 10;
