import { type JobDefinition, readWake, type WakeTask, writeWake } from './job.ts';
import { DEFAULT_PRIORITY, QUEUES } from './queues.ts';

/** Wakes a compaction worker. This job is the parent of the summarization jobs of its compaction pass. */
export const wakePassJob: JobDefinition<WakeTask> = {
  name: 'pass',
  queue: QUEUES.compaction,
  attempts: 1,
  backoffMs: 0,
  priority: DEFAULT_PRIORITY,
  write: writeWake,
  read: readWake,
};
