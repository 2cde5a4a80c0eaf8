import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { QueueName } from '../jobs/queues.ts';
import { type Arrivals, readArrivals } from './arrivals.ts';
import type { QueueSet } from './queue-set.ts';

/** How long work waits for a worker, in one shard of a queue. */
export interface ShardWait {
  readonly queue: QueueName;
  readonly shard: number;
  /** of the job that has waited longest, next or not: never more than it has, but for clocks; undefined where none waits */
  readonly waitMs: number | undefined;
}

export type QueueReader = Pick<Redis, 'hmget' | 'lrange' | 'xrevrange' | 'zrangebyscore'>;

/**
 * Reads a job or a few of each priority, so it costs the same however long the queues are: of 48 queues with 16 priorities
 * each, all of whose first jobs came back, 85 ms of a core. Clocks are those of whoever added the job, of Redis, and of this
 * process.
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
  const [due, reclaimed, prioritized] = await Promise.all([
    readDueSince(jobs, redis, now),
    listReclaimed(jobs, redis),
    listPrioritized(jobs, redis),
  ]);
  // Once for all, and not before the ids: what came back in between would pass for what is too old to be told of.
  let arrivals: Promise<Arrivals> | undefined;
  const look: Look = { jobs, redis, now, askArrivals: () => (arrivals ??= readArrivals(jobs, redis)) };
  const sinces = await Promise.all([reclaimed, ...prioritized].map((ids) => dateOldest(ids, look)));
  return findEarliest([due, ...sinces]);
}

function findEarliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
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

/** More that are in use at once are not looked at: each costs an answer of Redis, one after the other. */
const MOST_PRIORITIES = 16;
/** BullMQ's score of a job is its priority times this, and its number: the first of a priority came before the others. */
const PRIORITY_SCORE = 2 ** 32;
/** So many of each are looked at, where the time of the first is not known. */
const MOST_HEADS = 8;

/**
 * Ids of what dead workers held, oldest first. Every job of ours has a priority, so this list gets only those, at its right
 * end; workers take them from there, too, and the leftmost waits longest.
 */
function listReclaimed(jobs: Queue, redis: QueueReader): Promise<string[]> {
  return redis.lrange(jobs.toKey('wait'), 0, MOST_HEADS - 1);
}

/** Ids of the first jobs of each priority, oldest first. */
async function listPrioritized(jobs: Queue, redis: QueueReader): Promise<string[][]> {
  const key = jobs.toKey('prioritized');
  const heads: string[][] = [];
  let priority = 0;
  while (heads.length < MOST_PRIORITIES) {
    const least = priority * PRIORITY_SCORE;
    const scored = await redis.zrangebyscore(key, least, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_HEADS);
    if (scored.length === 0) break;
    priority = Math.floor(Number(scored[1]) / PRIORITY_SCORE) + 1;
    heads.push(pickBelow(scored, priority * PRIORITY_SCORE));
  }
  return heads;
}

/** @param scored ids, each followed by its score */
function pickBelow(scored: readonly string[], limit: number): string[] {
  return scored.filter((_, index) => index % 2 === 0 && Number(scored[index + 1]) < limit);
}

interface Look {
  readonly jobs: Queue;
  readonly redis: QueueReader;
  readonly now: number;
  readonly askArrivals: () => Promise<Arrivals>;
}

/**
 * Since when the first of these has waited, at the latest. It came before the others, one of which may be dated where it is
 * not.
 */
async function dateOldest([first, ...others]: readonly string[], look: Look): Promise<number | undefined> {
  if (first === undefined) return undefined;
  const date = await dateJob(first, look);
  if (date?.isKnown) return date.since;
  const dates = await Promise.all(others.map((id) => dateJob(id, look)));
  return findEarliest([date, ...dates].map((each) => each?.since));
}

interface JobDate {
  /** at the latest, where it is not known */
  readonly since: number;
  readonly isKnown: boolean;
}

/**
 * One that nobody has taken yet has waited since it was added. Of one that came back (from its children, a delay or a dead
 * worker) BullMQ keeps when it was added and when it was last taken, both of which are minutes too early; that it came back
 * is in the queue's events. Not taken: to remember here since when an id is seen to wait, which a doctor that has just begun
 * cannot know, and of which each process would have another opinion; nor a field of our own on the job, because the script
 * that brings a parent back is BullMQ's.
 * @returns undefined where it is gone: taken in between, and the next look will find what is behind it
 */
async function dateJob(id: string, { jobs, redis, now, askArrivals }: Look): Promise<JobDate | undefined> {
  // BullMQ's getJob reads all of it, and costs three times as much.
  const [timestamp, attemptsStarted, opts] = await redis.hmget(jobs.toKey(id), 'timestamp', 'ats', 'opts');
  if (!timestamp) return undefined;
  if (Number(attemptsStarted ?? 0) === 0 && !hasDelay(opts)) return { since: Number(timestamp), isKnown: true };
  const { byJob, toldSince = now } = await askArrivals();
  const arrivedAt = byJob.get(id);
  return { since: arrivedAt ?? toldSince, isKnown: arrivedAt !== undefined };
}

/** Whether it was added with one; the field of that name is 0 once it is over. */
function hasDelay(opts: string | null | undefined): boolean {
  const { delay = 0 } = JSON.parse(opts ?? '{}') as { readonly delay?: number };
  return delay > 0;
}
