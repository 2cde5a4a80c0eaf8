import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { readJsonText } from '../../domain/json-text.ts';
import { isMapping } from '../../domain/parse.ts';
import { QUEUES, type QueueName } from '../queues.ts';
import { type DueWakes, PRIORITY_SCORE } from './due-wakes.ts';
import type { QueueSet } from './queue-set.ts';

export interface ShardWait {
  readonly queue: QueueName;
  readonly shard: number;
  /** Wait of the oldest job in ms. Undefined if no job waits. Apart from clock skew, the value is never too large. */
  readonly waitMs: number | undefined;
}

export type QueueReader = Pick<Redis, 'hmget' | 'lrange' | 'xrevrange' | 'zrangebyscore'>;

/**
 * Measures how long the oldest job of each shard has waited. Only a few jobs of each priority are read, so the cost
 * does not grow with the queues. The worst case took 85 ms of a core: 48 queues with 16 priorities, and no job with a
 * known time. The times come from the clocks of Redis, of the process that added the job, and of this process.
 */
export async function readShardWaits(queues: QueueSet, redis: QueueReader, dueWakes: DueWakes): Promise<ShardWait[]> {
  const now = Date.now();
  return await Promise.all(
    [...queues.entries()].flatMap(([queue, shards]) =>
      shards.map(async (jobs, shard) => {
        const withoutJob = queue === QUEUES.turn ? dueWakes.readOldestSince(jobs) : undefined;
        const since = findEarliest(await Promise.all([readOldestSince(jobs, redis, now), withoutJob]));
        return { queue, shard, waitMs: since === undefined ? undefined : Math.max(0, now - since) };
      }),
    ),
  );
}

async function readOldestSince(jobs: Queue, redis: QueueReader, now: number): Promise<number | undefined> {
  const [due, reclaimed, prioritized] = await Promise.all([
    readDueSince(jobs, redis, now),
    // Jobs that BullMQ took back from dead workers. All other jobs have a priority, so they are in another list.
    redis.lrange(jobs.toKey('wait'), 0, MAX_HEADS - 1),
    listPrioritized(jobs, redis),
  ]);
  // The events are read once, and after the job ids. In the other order, a job that came back between the two reads
  // would look older than all events.
  let arrivals: Promise<Arrivals> | undefined;
  const reader: JobReader = { jobs, redis, now, readArrivals: () => (arrivals ??= readArrivals(jobs, redis)) };
  const sinces = await Promise.all([reclaimed, ...prioritized].map((ids) => dateOldest(ids, reader)));
  return findEarliest([due, ...sinces]);
}

function findEarliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** BullMQ's score of a delayed job is its due time multiplied by this number, plus a counter. */
const DELAY_SCORE = 2 ** 12;

/** Due time of the oldest delayed job. BullMQ lets a due job wait for a worker only once another job is taken. */
async function readDueSince(jobs: Queue, redis: QueueReader, now: number): Promise<number | undefined> {
  const due = (now + 1) * DELAY_SCORE - 1;
  const [, score] = await redis.zrangebyscore(jobs.toKey('delayed'), 0, due, 'WITHSCORES', 'LIMIT', 0, 1);
  return score === undefined ? undefined : Math.floor(Number(score) / DELAY_SCORE);
}

/** Most priorities that are read. Each priority costs one round trip. */
const MAX_PRIORITIES = 16;
/** Most jobs that are read per priority, in case the first job has no known time. */
const MAX_HEADS = 8;

/** Lists the first job ids of each priority, oldest first. */
async function listPrioritized(jobs: Queue, redis: QueueReader): Promise<string[][]> {
  const key = jobs.toKey('prioritized');
  const heads: string[][] = [];
  let priority = 0;
  while (heads.length < MAX_PRIORITIES) {
    const least = priority * PRIORITY_SCORE;
    const scored = await redis.zrangebyscore(key, least, '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_HEADS);
    if (scored.length === 0) break;
    priority = Math.floor(Number(scored[1]) / PRIORITY_SCORE) + 1;
    heads.push(pickBelow(scored, priority * PRIORITY_SCORE));
  }
  return heads;
}

function pickBelow(scored: readonly string[], limit: number): string[] {
  return scored.filter((_, index) => index % 2 === 0 && Number(scored[index + 1]) < limit);
}

interface JobReader {
  readonly jobs: Queue;
  readonly redis: QueueReader;
  readonly now: number;
  readonly readArrivals: () => Promise<Arrivals>;
}

/**
 * Finds when the longest wait began. The jobs are sorted, longest wait first. If the first job has no exact time, the
 * others may have one.
 */
async function dateOldest([first, ...others]: readonly string[], reader: JobReader): Promise<number | undefined> {
  if (first === undefined) return undefined;
  const date = await dateJob(first, reader);
  if (date?.isExact) return date.since;
  const dates = await Promise.all(others.map((id) => dateJob(id, reader)));
  return findEarliest([date, ...dates].map((each) => each?.since));
}

interface JobDate {
  /** Start of the wait, or a later time if the start is not known. */
  readonly since: number;
  readonly isExact: boolean;
}

/**
 * Finds out since when a job waits. A job that no worker has taken yet has waited since it was added. A job that came
 * back from its children, from a delay or from a dead worker stores no exact time. The queue's events have that time.
 *
 * A process cannot remember when it first saw an id: the process of `doctor` has just started. turnfold cannot store
 * the time in a field of its own, because a script of BullMQ brings a parent job back.
 * @returns undefined if a worker took the job meanwhile
 */
async function dateJob(id: string, { jobs, redis, now, readArrivals: read }: JobReader): Promise<JobDate | undefined> {
  // BullMQ's `getJob` reads the whole job, which costs three times as much.
  const [timestamp, attemptsStarted, opts] = await redis.hmget(jobs.toKey(id), 'timestamp', 'ats', 'opts');
  if (!timestamp) return undefined;
  if (Number(attemptsStarted ?? 0) === 0 && !hasDelay(opts)) return { since: Number(timestamp), isExact: true };
  const { byJob, completeSince = now } = await read();
  const arrivedAt = byJob.get(id);
  return { since: arrivedAt ?? completeSince, isExact: arrivedAt !== undefined };
}

/** Reads the delay from the options. The field `delay` of the job itself is 0 once the delay has ended. */
function hasDelay(opts: string | null | undefined): boolean {
  const value = readJsonText(opts ?? '');
  return isMapping(value) && Number(value.delay) > 0;
}

/** Times at which jobs came back to their queue, by job id and the clock of Redis. */
interface Arrivals {
  readonly byJob: ReadonlyMap<string, number>;
  /** Time of the oldest event. A job without an event has waited for longer. Undefined if there are no events. */
  readonly completeSince: number | undefined;
}

/** Most events that are read. A queue keeps fewer, unless it was configured otherwise (`queue-set.ts`). */
const MAX_EVENTS = 250;

async function readArrivals(jobs: Queue, redis: Pick<Redis, 'xrevrange'>): Promise<Arrivals> {
  const newestFirst = await redis.xrevrange(jobs.toKey('events'), '+', '-', 'COUNT', MAX_EVENTS);
  const byJob = new Map<string, number>();
  for (const [id, fields] of newestFirst) {
    const { event, jobId } = readFields(fields);
    if (event === 'waiting' && jobId !== undefined && !byJob.has(jobId)) byJob.set(jobId, timeOf(id));
  }
  const oldest = newestFirst.at(-1);
  return { byJob, completeSince: oldest && timeOf(oldest[0]) };
}

function readFields(fields: readonly string[]): Record<string, string | undefined> {
  const pairs = fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1]]] : []));
  return Object.fromEntries(pairs) as Record<string, string | undefined>;
}

/** An event's id is its time in ms, followed by a counter. */
function timeOf(eventId: string): number {
  return Number(eventId.split('-', 1)[0]);
}
