import { type JobDefinition, readWake, type WakeTask, writeWake } from './job.ts';
import { DEFAULT_PRIORITY, QUEUES } from './queues.ts';

/**
 * Wakes a turn worker. A failed job is not retried, because the sweeper adds a new job for every turn that is still
 * due.
 */
export const wakeTurnJob: JobDefinition<WakeTask> = {
  name: 'turn',
  queue: QUEUES.turn,
  attempts: 1,
  backoffMs: 0,
  priority: DEFAULT_PRIORITY,
  write: writeWake,
  read: readWake,
};
