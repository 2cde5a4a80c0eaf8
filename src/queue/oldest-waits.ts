import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { QueueName } from '../jobs/names.ts';
import type { QueueSet } from './queue-set.ts';

export interface OldestWait {
  readonly queue: QueueName;
  /** 0 where none waits */
  readonly waitMs: number;
}

type SetReader = Pick<Redis, 'zrangebyscore'>;

/**
 * The longest of all shards, whether it is next or not: what is behind jobs of a higher priority may never come to be.
 * Reads one job of each priority and shard. Clocks are those of whoever added the job and of this process.
 */
export async function readOldestWaits(queues: QueueSet, redis: SetReader): Promise<OldestWait[]> {
  const now = Date.now();
  return await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const waits = await Promise.all(shards.map((shard) => readOldestWait(shard, redis, now)));
      return { queue, waitMs: Math.max(0, ...waits) };
    }),
  );
}

/** More that are in use at once are not looked at: each costs two answers of Redis. */
const MOST_PRIORITIES = 16;
/** BullMQ's score of a job is its priority times this, and the number of the job: the first of a priority is its oldest. */
const PRIORITY_SCORE = 2 ** 32;

async function readOldestWait(shard: Queue, redis: SetReader, now: number): Promise<number> {
  const key = shard.toKey('prioritized');
  let [priority, oldestMs] = [0, 0];
  for (let looks = 0; looks < MOST_PRIORITIES; looks += 1) {
    const least = priority * PRIORITY_SCORE;
    const [id, score] = await redis.zrangebyscore(key, least, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    if (id === undefined) break;
    const job = await shard.getJob(id);
    // Taken in between: the next look will find the one behind it.
    if (job !== undefined) oldestMs = Math.max(oldestMs, now - job.timestamp);
    priority = Math.floor(Number(score) / PRIORITY_SCORE) + 1;
  }
  return oldestMs;
}
