import type { Queue } from 'bullmq';
import { isOutage } from '../domain/redis-errors.ts';
import type { QueueSet } from './queue-set.ts';
import { type QueueReader, readShardWaits, type ShardWait } from './shard-waits.ts';

/** One shard of a queue, as somebody sees it who takes no part. */
export interface QueueReport extends ShardWait {
  readonly isPaused: boolean;
  /** connected now; undefined where the server does not tell */
  readonly workers: number | undefined;
}

export async function reportQueues(queues: QueueSet, redis: QueueReader): Promise<QueueReport[]> {
  const shards = new Map(queues.entries());
  const waits = await readShardWaits(queues, redis);
  return await Promise.all(
    waits.map(async (wait) => {
      const queue = shards.get(wait.queue)?.[wait.shard] as Queue;
      return { ...wait, isPaused: await queue.isPaused(), workers: await countWorkers(queue) };
    }),
  );
}

/** Of a Cluster every node is asked. Each that has gone fails one look, and is left out of the next: so many may. */
const MOST_LOOKS = 4;

/** Where clients cannot be listed, BullMQ answers one that says so; where this user may not, it throws. */
async function countWorkers(queue: Queue, looks = MOST_LOOKS): Promise<number | undefined> {
  try {
    const workers = await queue.getWorkers();
    return workers.some(({ name }) => name?.startsWith('GCP')) ? undefined : workers.length;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined;
    if (looks > 1 && isOutage(error)) return await countWorkers(queue, looks - 1);
    throw error;
  }
}
