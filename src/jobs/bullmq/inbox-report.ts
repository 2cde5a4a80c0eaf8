import { Queue } from 'bullmq';
import { isErrorCode } from '../../domain/errors.ts';
import { readJsonText } from '../../domain/json-text.ts';
import { isMapping } from '../../domain/parse.ts';
import { INBOX_QUEUE, queuePrefix } from '../queues.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { countWorkers, databaseOf } from './queue-reports.ts';
import { reportErrors } from './queue-set.ts';
import type { QueueReader } from './shard-waits.ts';

/** State of the inbox, as a report for operators. */
export interface InboxReport {
  /** Jobs that no worker has taken yet, and jobs that are delivered again after a delay. */
  readonly waiting: number;
  /** ms since the oldest waiting job was added. Undefined if none waits. */
  readonly waitMs: number | undefined;
  /** Failed jobs that are still kept. */
  readonly failed: number;
  /** Error code of the last failed job, if its reason has one. */
  readonly lastCode: string | undefined;
  readonly isPaused: boolean;
  /** Number of connected workers. Undefined if the server does not list its clients. */
  readonly workers: number | undefined;
}

interface InboxPlace {
  readonly connection: QueueConnection;
  readonly prefix: string | undefined;
  readonly onError: QueueErrorListener;
}

/** Reads a few jobs of the inbox only, so the cost does not grow with the queue. */
export async function reportInbox({ connection, prefix, onError }: InboxPlace): Promise<InboxReport> {
  const jobs = new Queue(INBOX_QUEUE, {
    connection,
    prefix: queuePrefix(0, prefix),
    // A report must not change the settings that the producers of the queue have stored.
    skipMetasUpdate: true,
    // A user without INFO could not start the queue otherwise.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  jobs.on('error', reportErrors(INBOX_QUEUE, onError));
  try {
    const counts = await jobs.getJobCounts('waiting', 'prioritized', 'delayed', 'failed');
    const { failed = 0, ...waiting } = counts;
    const [lastFailed] = await connection.zrevrange(jobs.toKey('failed'), 0, 0);
    const reason = lastFailed === undefined ? null : await connection.hget(jobs.toKey(lastFailed), 'failedReason');
    return {
      waiting: Object.values(waiting).reduce((sum, count) => sum + count, 0),
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

/** The oldest job without a priority is the last of its list. Jobs with a priority come after all of those. */
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
  // The reason of a job that a worker lost is plain text.
  const value = readJsonText(reason ?? '');
  return isMapping(value) && isErrorCode(value.code) ? value.code : undefined;
}
