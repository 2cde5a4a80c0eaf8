import type { Metrics } from 'bullmq';
import type { QueueName } from '../queues.ts';
import type { QueueSet } from './queue-set.ts';

/** Number of minutes that a report covers. BullMQ keeps as many for each shard of a queue. */
export const HOUR_MINUTES = 60;

const MINUTE_MS = 60_000;

/** Jobs of one queue that ended in each minute of the last hour, oldest first. The last minute is still running. */
export interface QueueHour {
  readonly queue: QueueName;
  readonly finished: readonly number[];
  readonly failed: readonly number[];
}

/** Reads what the workers of all processes count with each job that ends. */
export async function readHour(queues: QueueSet, now: number): Promise<QueueHour[]> {
  return await Promise.all(
    [...queues.entries()].map(async ([queue, shards]) => {
      const read = async (type: 'completed' | 'failed'): Promise<number[]> => {
        const metrics = await Promise.all(shards.map((shard) => shard.getMetrics(type, 0, HOUR_MINUTES - 1)));
        return addUp(metrics.map((one) => countMinutes(one, now)));
      };
      const [finished, failed] = await Promise.all([read('completed'), read('failed')]);
      return { queue, finished, failed };
    }),
  );
}

/**
 * Reads the minutes of one shard. BullMQ writes a minute when the first job of a later minute ends. So `data[0]` is
 * the minute before the last job, and `count - prevCount` is the number of the last job's own minute.
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

function addUp(shards: readonly (readonly number[])[]): number[] {
  return Array.from({ length: HOUR_MINUTES }, (_, at) => shards.reduce((sum, minutes) => sum + (minutes[at] ?? 0), 0));
}
