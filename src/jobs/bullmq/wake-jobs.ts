import type { JobsOptions } from 'bullmq';
import type { JobDefinition, WakeTask } from '../job.ts';
import type { WakeKind } from '../ports.ts';
import { HIGHEST_PRIORITY } from '../queues.ts';
import { wakePassJob } from '../wake-pass.ts';
import { wakeTurnJob } from '../wake-turn.ts';

/** The kind of job that each kind of wake gets. */
export const WAKE_JOBS = { turn: wakeTurnJob, pass: wakePassJob } satisfies Record<WakeKind, JobDefinition<WakeTask>>;

/** A job as `Queue.add` and `Queue.addBulk` take it. */
export interface WakeJob {
  readonly name: string;
  readonly data: object;
  readonly opts: JobsOptions;
}

export interface WakeToAdd extends WakeTask {
  readonly kind: WakeKind;
  readonly wake: string;
  readonly priority?: number | undefined;
  readonly delayMs?: number;
}

/** Describes the job of a wake. The same wake always has the same job id, so that it is added once. */
export function describeWakeJob({ kind, wake, priority, delayMs = 0, ...task }: WakeToAdd): WakeJob {
  const definition = WAKE_JOBS[kind];
  const opts = {
    jobId: jobIdOf(wake),
    priority: Math.max(HIGHEST_PRIORITY, priority ?? definition.priority),
    delay: delayMs,
    // BullMQ ignores a new job whose id belongs to a finished job, so finished wakes are removed.
    removeOnComplete: true,
    removeOnFail: true,
  };
  return { name: definition.name, data: definition.write(task), opts };
}

/** BullMQ refuses ids of digits only, so every id gets a prefix. */
export function jobIdOf(wake: string): string {
  return `w-${wake}`;
}
