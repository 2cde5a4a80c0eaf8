import { type JobDefinition, readWake, type WakePayload, type WakeTask, wakeSchema, writeWake } from './job.ts';
import { DEFAULT_PRIORITY, QUEUES } from './queues.ts';

/** Wakes a compaction worker. This job is the parent of the summarization jobs of its pass. */
export const wakePassJob: JobDefinition<WakeTask, WakePayload> = {
  name: 'pass',
  queue: QUEUES.compaction,
  attempts: 1,
  backoffMs: 0,
  priority: DEFAULT_PRIORITY,
  schema: wakeSchema,
  write: writeWake,
  read: readWake,
};
