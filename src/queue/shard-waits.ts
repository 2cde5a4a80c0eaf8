import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { QueueName } from '../jobs/names.ts';
import { type Arrivals, readArrivals } from './arrivals.ts';
import type { QueueSet } from './queue-set.ts';

/** How long work waits for a worker, in one shard of a queue. */
export interface ShardWait {
  readonly queue: QueueName;
  readonly shard: number;
  /** of the job that has waited longest, next or not: never more than it has; undefined where none waits */
  readonly waitMs: number | undefined;
}

export type QueueReader = Pick<Redis, 'lindex' | 'xrevrange' | 'zrangebyscore'>;

/**
 * Reads a job or two of each priority, so it costs the same however long the queues are. Clocks are those of whoever added
 * the job, of Redis, and of this process.
 */
export async function readShardWaits(queues: QueueSet, redis: QueueReader): Promise<ShardWait[]> {
  const now = Date.now();
  return await Promise.all(
    [...queues.entries()].flatMap(([queue, shards]) =>
      shards.map(async (jobs, shard) => {
        const since = await readOldestSince(jobs, redis, now);
        return { queue, shard, waitMs: since === undefined ? undefined : Math.max(0, now - since) };
      }),
    ),
  );
}

async function readOldestSince(jobs: Queue, redis: QueueReader, now: number): Promise<number | undefined> {
  const sinces = [await readDueSince(jobs, redis, now)];
  for await (const heads of listHeads(jobs, redis)) sinces.push(await dateFirst(jobs, heads, redis, now));
  const known = sinces.filter((since) => since !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** BullMQ's score of a delayed job is its time times this, and a number. */
const DELAY_SCORE = 2 ** 12;

/** The time of the delayed job that is due and has not been looked at: that is done by workers that take another. */
async function readDueSince(jobs: Queue, redis: QueueReader, now: number): Promise<number | undefined> {
  const due = (now + 1) * DELAY_SCORE - 1;
  const [, score] = await redis.zrangebyscore(jobs.toKey('delayed'), 0, due, 'WITHSCORES', 'LIMIT', 0, 1);
  return score === undefined ? undefined : Math.floor(Number(score) / DELAY_SCORE);
}

/** More that are in use at once are not looked at: each costs an answer of Redis or two. */
const MOST_PRIORITIES = 16;
/** BullMQ's score of a job is its priority times this, and its number: the first of a priority came before the others. */
const PRIORITY_SCORE = 2 ** 32;
/** So many of a priority are looked at until one is found whose time is known. */
const MOST_HEADS = 8;

/** Ids of the first jobs of each priority, and of what is taken before them all: what a dead worker held. */
async function* listHeads(jobs: Queue, redis: QueueReader): AsyncGenerator<string[]> {
  const first = await redis.lindex(jobs.toKey('wait'), -1);
  if (first !== null) yield [first];
  const key = jobs.toKey('prioritized');
  let priority = 0;
  for (let looks = 0; looks < MOST_PRIORITIES; looks += 1) {
    const least = priority * PRIORITY_SCORE;
    const scored = await redis.zrangebyscore(key, least, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_HEADS);
    if (scored.length === 0) return;
    priority = Math.floor(Number(scored[1]) / PRIORITY_SCORE) + 1;
    yield pickBelow(scored, priority * PRIORITY_SCORE);
  }
}

/** @param scored ids, each followed by its score */
function pickBelow(scored: readonly string[], limit: number): string[] {
  return scored.filter((_, index) => index % 2 === 0 && Number(scored[index + 1]) < limit);
}

/**
 * Since when the first of these has waited, at the latest: it came before the next whose time is known. One that nobody has
 * taken yet has waited since it was added. Of one that came back (from its children, a delay or a dead worker) BullMQ keeps
 * when it was added and when it was last taken, both of which are minutes too early; that it came back is in the queue's
 * events. Not taken: to remember here since when an id is seen to wait, which a doctor that has just begun cannot know, and
 * of which each process would have another opinion; nor a field of our own on the job, because the script that brings a
 * parent back is BullMQ's.
 */
async function dateFirst(
  jobs: Queue,
  ids: readonly string[],
  redis: QueueReader,
  now: number,
): Promise<number | undefined> {
  let arrivals: Arrivals | undefined;
  let since: number | undefined;
  for (const id of ids) {
    const job = await jobs.getJob(id);
    if (job === undefined) continue; // Taken in between: the next look will find the one behind it.
    if (job.attemptsStarted === 0 && !job.opts.delay) return Math.min(since ?? now, job.timestamp);
    // Not before the ids: what came back in between would pass for what is too old to be told of.
    arrivals ??= await readArrivals(jobs, redis);
    const arrivedAt = arrivals.byJob.get(id);
    if (arrivedAt !== undefined) return Math.min(since ?? now, arrivedAt);
    since = arrivals.toldSince ?? now;
  }
  return since;
}
