import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** When jobs began to wait, as the events of their queue tell it. Times by the clock of Redis. */
export interface Arrivals {
  /** the last time of each job that is told of */
  readonly byJob: ReadonlyMap<string, number>;
  /** a job that is not told of has waited for longer; undefined where nothing is told */
  readonly toldSince: number | undefined;
}

/** A queue keeps fewer, unless it was told to keep more (`queue-set.ts`). */
const MOST_EVENTS = 250;

/**
 * Reads the newest events. They go back for so long as it took to make them: a moment where much is done, and far where
 * nothing is.
 */
export async function readArrivals(jobs: Queue, redis: Pick<Redis, 'xrevrange'>): Promise<Arrivals> {
  const newestFirst = await redis.xrevrange(jobs.toKey('events'), '+', '-', 'COUNT', MOST_EVENTS);
  const byJob = new Map<string, number>();
  for (const [id, fields] of newestFirst) {
    const { event, jobId } = readFields(fields);
    if (event === 'waiting' && jobId !== undefined && !byJob.has(jobId)) byJob.set(jobId, timeOf(id));
  }
  const oldest = newestFirst.at(-1);
  return { byJob, toldSince: oldest && timeOf(oldest[0]) };
}

function readFields(fields: readonly string[]): Record<string, string | undefined> {
  const pairs = fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1]]] : []));
  return Object.fromEntries(pairs) as Record<string, string | undefined>;
}

/** Redis names an event by its time in ms and a number. */
function timeOf(eventId: string): number {
  return Number(eventId.split('-', 1)[0]);
}
