import type { Queue } from 'bullmq';
import { isOutage } from '../redis/errors.ts';
import type { QueueConnection } from './queue-connection.ts';
import type { QueueSet } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

/** One shard of a queue, as somebody sees it who takes no part. */
export interface QueueReport extends ShardWait {
  readonly isPaused: boolean;
  /** connected to this database now; undefined where the server does not tell */
  readonly workers: number | undefined;
}

export async function reportQueues(queues: QueueSet, redis: QueueConnection): Promise<QueueReport[]> {
  const shards = new Map(queues.entries());
  const database = databaseOf(redis);
  const waits = await readShardWaits(queues, redis);
  return await Promise.all(
    waits.map(async (wait) => {
      const queue = shards.get(wait.queue)?.[wait.shard] as Queue;
      return { ...wait, isPaused: await queue.isPaused(), workers: await countWorkers(queue, database) };
    }),
  );
}

/** Of a Cluster every node is asked. Each that has gone fails one look, and is left out of the next: so many may. */
const MOST_LOOKS = 4;

/**
 * Where clients cannot be listed, BullMQ answers one that says so; where this user may not, it throws. Redis lists those of
 * all its databases, and BullMQ goes by their names, which are the same in each.
 */
async function countWorkers(queue: Queue, database: number, looks = MOST_LOOKS): Promise<number | undefined> {
  try {
    const workers = await queue.getWorkers();
    if (workers.some(({ name }) => name?.startsWith('GCP'))) return undefined;
    return workers.filter(({ db }) => Number(db ?? 0) === database).length;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined;
    if (looks > 1 && isOutage(error)) return await countWorkers(queue, database, looks - 1);
    throw error;
  }
}

/** A Cluster has only the first. */
function databaseOf({ options }: QueueConnection): number {
  return 'db' in options ? (options.db ?? 0) : 0;
}
