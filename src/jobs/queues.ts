import { DEFAULT_PREFIX, hashTag } from '../domain/namespace.ts';

/**
 * Names of the queues. Compaction and summarization use the same Redis Cluster slot, because BullMQ requires it of a
 * parent job and its children.
 */
export const QUEUES = { turn: 'turn', compaction: 'compaction', summarization: 'summarization' } as const;

/** Queue into which services of any language add turns. It has one shard, and only other services add jobs to it. */
export const INBOX_QUEUE = 'inbox';

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES] | typeof INBOX_QUEUE;

export const INBOX_LIMITS = {
  /** Maximum length of a job's data. A message of 1 MiB fits in, also if each of its characters is escaped as \\uXXXX. */
  dataCharacters: 8_388_608,
  maxDepth: 40,
  /** Seconds for which a finished job is kept (a day), and the number of finished jobs that are kept. */
  keptSeconds: 86_400,
  keptJobs: 1_000,
} as const;

/** Key prefix of one queue shard in Redis: the hash tag that determines the Cluster slot. */
export function queuePrefix(shard: number, prefix = DEFAULT_PREFIX): string {
  return hashTag(prefix, 'tq', shard);
}

/**
 * Jobs with a lower number run first. Every job has a priority, because BullMQ runs jobs without a priority before all
 * others.
 */
export const HIGHEST_PRIORITY = 1;
export const DEFAULT_PRIORITY = 10;
/** Priority of work that a dead or stopped worker had begun. It comes before work that no worker has begun. */
export const BEGUN_PRIORITY = DEFAULT_PRIORITY - 1;
/** The largest priority number that BullMQ accepts. */
export const LOWEST_PRIORITY = 2_097_151;

/** Times in ms. If a worker is killed, its job is delivered again within `lockMs` + `stalledCheckMs`. */
export const QUEUE_TIMES = { lockMs: 10_000, stalledCheckMs: 5_000 } as const;

/**
 * Seconds after which an idle worker looks for jobs without a signal, because the worker that took the signal may have died.
 * After so many seconds, an idle worker also notices that the machine of Redis was lost.
 */
export const IDLE_LOOK_SECONDS = 10;
