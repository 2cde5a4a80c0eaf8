import type { QueueName } from '../jobs/queues.ts';
import type { QueueSet } from './queue-set.ts';

export const STATES = ['waiting', 'prioritized', 'delayed', 'active', 'waiting-children', 'failed'] as const;

export type JobState = (typeof STATES)[number];

export interface StateCount {
  readonly queue: QueueName;
  readonly state: JobState;
  /** summed over the shards */
  readonly count: number;
}

/** Lengths only, so it costs the same however long the queues are. */
export async function countJobs(queues: QueueSet): Promise<StateCount[]> {
  const counts = await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const perShard = await Promise.all(shards.map((shard) => shard.getJobCounts(...STATES)));
      return STATES.map((state) => ({ queue, state, count: sum(perShard.map((shard) => shard[state] ?? 0)) }));
    }),
  );
  return counts.flat();
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
