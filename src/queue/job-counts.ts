import type { Queue } from 'bullmq';
import type { QueueName } from '../jobs/names.ts';
import type { OldestWait } from './oldest-waits.ts';
import type { QueueSet } from './queue-set.ts';

export const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'waiting-children', 'failed'] as const;

export type JobState = (typeof STATES)[number];

export interface JobCount {
  readonly queue: QueueName;
  readonly state: JobState;
  /** summed over the shards */
  readonly count: number;
}

/** Lengths only, so it costs the same however long the queues are. */
export async function countJobs(queues: QueueSet): Promise<JobCount[]> {
  const counts = await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const perShard = await Promise.all(shards.map((shard) => shard.getJobCounts(...STATES)));
      return STATES.map((state) => ({ queue, state, count: sum(perShard.map((shard) => shard[state] ?? 0)) }));
    }),
  );
  return counts.flat();
}

/** Of the job that is next in one shard. */
export interface ShardWait extends OldestWait {
  readonly shard: number;
}

/** Reads one job a shard. Clocks are those of whoever added the job and of this process. */
export async function readShardWaits(queues: QueueSet): Promise<ShardWait[]> {
  const now = Date.now();
  return await Promise.all(
    [...queues.entries()].flatMap(([queue, shards]) =>
      shards.map(async (next, shard) => ({ queue, shard, waitMs: Math.max(0, await readNextWait(next, now)) })),
    ),
  );
}

async function readNextWait(shard: Queue, now: number): Promise<number> {
  const [next] = await shard.getPrioritized(0, 0);
  return next === undefined ? 0 : now - next.timestamp;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
