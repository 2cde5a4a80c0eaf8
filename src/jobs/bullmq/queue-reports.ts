import type { Queue } from 'bullmq';
import { isOutage } from '../../store/redis/errors.ts';
import { QUEUES, type QueueName } from '../queues.ts';
import type { DueWakes } from './due-wakes.ts';
import type { QueueConnection } from './queue-connection.ts';
import type { QueueSet } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

export const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'waiting-children', 'failed'] as const;

export interface StateCount {
  readonly queue: QueueName;
  readonly state: (typeof STATES)[number];
  /** Number of the queue's jobs in this state, in all shards. */
  readonly count: number;
}

/**
 * Counts the jobs of each queue and state. A due wake of a turn counts as a waiting job. Reads only the lengths of lists, so the
 * cost does not grow with them.
 */
export async function countJobs(queues: QueueSet, dueWakes: DueWakes): Promise<StateCount[]> {
  const counts = await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const perShard = await Promise.all(shards.map((shard) => shard.getJobCounts(...STATES)));
      const due = queue === QUEUES.turn ? await Promise.all(shards.map((shard) => dueWakes.count(shard))) : [];
      return STATES.map((state) => ({
        queue,
        state,
        count: addUp(perShard.map((shard) => shard[state] ?? 0)) + (state === 'waiting' ? addUp(due) : 0),
      }));
    }),
  );
  return counts.flat();
}

function addUp(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** State of one shard of a queue, as a report for operators. */
export interface QueueReport extends ShardWait {
  readonly isPaused: boolean;
  /**
   * Number of workers that are now connected to this Redis database. Undefined if the server does not list its clients.
   */
  readonly workers: number | undefined;
}

export async function reportQueues(
  queues: QueueSet,
  redis: QueueConnection,
  dueWakes: DueWakes,
): Promise<QueueReport[]> {
  const shards = new Map(queues.entries());
  const database = databaseOf(redis);
  const waits = await readShardWaits(queues, redis, dueWakes);
  return await Promise.all(
    waits.map(async (wait) => {
      const queue = shards.get(wait.queue)?.[wait.shard] as Queue;
      return { ...wait, isPaused: await queue.isPaused(), workers: await countWorkers(queue, database) };
    }),
  );
}

/**
 * Maximum attempts to count a queue's workers. BullMQ asks every node of a Cluster for its clients. If a node
 * disappears, that attempt fails, and the next one leaves the node out.
 */
const MAX_TRIES = 4;

/**
 * Counts the workers of a queue in this database. If the server cannot list its clients, BullMQ returns one client
 * named GCP. If the ACL of the Redis user forbids listing clients, BullMQ throws. Redis lists the clients of all
 * databases. BullMQ selects clients by a name that is the same in each database, so this function filters by database.
 */
export async function countWorkers(queue: Queue, database: number, tries = MAX_TRIES): Promise<number | undefined> {
  try {
    const workers = await queue.getWorkers();
    if (workers.some(({ name }) => name?.startsWith('GCP'))) return undefined;
    return workers.filter(({ db }) => Number(db ?? 0) === database).length;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined;
    if (tries > 1 && isOutage(error)) return await countWorkers(queue, database, tries - 1);
    throw error;
  }
}

/** Returns the database number of a connection. A Redis Cluster has only database 0. */
export function databaseOf({ options }: QueueConnection): number {
  return 'db' in options ? (options.db ?? 0) : 0;
}
