import type { Metrics, Queue } from 'bullmq';
import { isErrorCode } from '../../domain/errors.ts';
import { readJsonText } from '../../domain/json-text.ts';
import { isMapping } from '../../domain/parse.ts';
import { isOutage } from '../../store/redis/errors.ts';
import { INBOX_QUEUE, QUEUES, type QueueName } from '../queues.ts';
import type { DueWakes } from './due-wakes.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { type InboxPlace, openInboxQueue, type QueueSet, reportErrors } from './queue-set.ts';
import { type QueueReader, readShardWaits, type ShardWait } from './shard-waits.ts';

export const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'waiting-children', 'failed'] as const;

export interface StateCount {
  readonly queue: QueueName;
  readonly state: (typeof STATES)[number];
  readonly count: number;
}

/** Counts jobs by state, with due wakes (wakes without a job) as waiting jobs. Reads only the lengths of lists. */
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

export interface QueueReport extends ShardWait {
  readonly isPaused: boolean;
  /** Workers that are connected to this database now. Undefined if the server does not list its clients. */
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

/** Most attempts to list the clients. A later attempt leaves out a Cluster node that disappeared meanwhile. */
const MAX_TRIES = 4;

/**
 * If the server cannot list its clients, BullMQ returns one client with the name GCP. If the ACL forbids the list,
 * BullMQ throws. Redis lists the clients of all databases, so this function filters them.
 */
async function countWorkers(queue: Queue, database: number, tries = MAX_TRIES): Promise<number | undefined> {
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

/** Number of the database of a connection. A Redis Cluster has only database 0. */
function databaseOf({ options }: QueueConnection): number {
  return 'db' in options ? (options.db ?? 0) : 0;
}

/** Number of minutes in the report. BullMQ keeps the counts of so many minutes for each shard of a queue. */
export const HOUR_MINUTES = 60;

const MINUTE_MS = 60_000;

/** Numbers of jobs that ended in each minute of the last hour, oldest first. The last minute is not over yet. */
export interface QueueHour {
  readonly queue: QueueName;
  readonly finished: readonly number[];
  readonly failed: readonly number[];
}

export async function readHour(queues: QueueSet, now: number): Promise<QueueHour[]> {
  return await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const read = async (type: 'completed' | 'failed'): Promise<number[]> => {
        const metrics = await Promise.all(shards.map((shard) => shard.getMetrics(type, 0, HOUR_MINUTES - 1)));
        const minutes = metrics.map((one) => countMinutes(one, now));
        return Array.from({ length: HOUR_MINUTES }, (_, at) => addUp(minutes.map((shard) => shard[at] ?? 0)));
      };
      const [finished, failed] = await Promise.all([read('completed'), read('failed')]);
      return { queue, finished, failed };
    }),
  );
}

/**
 * Reads BullMQ's counts. BullMQ writes the count of a minute when the first job of a later minute ends. So the minute
 * in which the last job ended has the count `count - prevCount`, and the minute before has `data[0]`.
 */
export function countMinutes({ meta, data }: Pick<Metrics, 'meta' | 'data'>, now: number): number[] {
  const lastMinute = Math.floor(meta.prevTS / MINUTE_MS);
  const thisMinute = Math.floor(now / MINUTE_MS);
  return Array.from({ length: HOUR_MINUTES }, (_, at) => {
    const behind = lastMinute - (thisMinute - HOUR_MINUTES + 1 + at);
    if (behind === 0) return meta.count - meta.prevCount;
    return behind < 0 ? 0 : (data[behind - 1] ?? 0);
  });
}

export interface InboxReport {
  /** Jobs that no worker has taken yet, or that are delivered again after a delay. */
  readonly waiting: number;
  readonly waitMs: number | undefined;
  readonly failed: number;
  readonly lastCode: string | undefined;
  readonly isPaused: boolean;
  /** Workers that are connected to this queue. Undefined if the server does not list its clients. */
  readonly workers: number | undefined;
}

/** Reports the state of the inbox. Only a few jobs are read, so the cost does not grow with the queue. */
export async function reportInbox(place: InboxPlace, onError: QueueErrorListener): Promise<InboxReport> {
  const { connection } = place;
  const jobs = openInboxQueue(place);
  jobs.on('error', reportErrors(INBOX_QUEUE, onError));
  try {
    const counts = await jobs.getJobCounts('waiting', 'prioritized', 'delayed', 'failed');
    const { failed = 0, ...waiting } = counts;
    const [lastFailed] = await connection.zrevrange(jobs.toKey('failed'), 0, 0);
    const reason = lastFailed === undefined ? null : await connection.hget(jobs.toKey(lastFailed), 'failedReason');
    return {
      waiting: addUp(Object.values(waiting)),
      waitMs: await readWait(jobs, connection),
      failed,
      lastCode: readCode(reason),
      isPaused: await jobs.isPaused(),
      workers: await countWorkers(jobs, databaseOf(connection)),
    };
  } finally {
    await jobs.close();
  }
}

/** Wait in ms of the oldest job. Jobs without a priority run first, and the oldest of them is the last of its list. */
async function readWait(jobs: Queue, redis: QueueReader): Promise<number | undefined> {
  const [[waiting], [prioritized], [delayed]] = await Promise.all([
    redis.lrange(jobs.toKey('wait'), -1, -1),
    redis.zrangebyscore(jobs.toKey('prioritized'), 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
    redis.zrangebyscore(jobs.toKey('delayed'), 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
  ]);
  const ids = [waiting, prioritized, delayed].filter((id) => id !== undefined);
  const added = await Promise.all(ids.map((id) => redis.hmget(jobs.toKey(id), 'timestamp')));
  const times = added.flatMap(([time]) => (time === null || time === undefined ? [] : [Number(time)]));
  return times.length === 0 ? undefined : Math.max(0, Date.now() - Math.min(...times));
}

function readCode(reason: string | null): string | undefined {
  // `failedReason` is plain text, not JSON, if a worker lost the job.
  const value = readJsonText(reason ?? '');
  return isMapping(value) && isErrorCode(value.code) ? value.code : undefined;
}
