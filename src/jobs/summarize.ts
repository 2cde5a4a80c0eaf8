import { z } from 'zod';
import { idSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import { type JobDefinition, payloadFields, writeWake } from './job.ts';
import type { SummarizationTask } from './ports.ts';
import { DEFAULT_PRIORITY, QUEUES } from './queues.ts';

/** Delay in ms of a job while another job summarizes the same messages. */
export const IN_FLIGHT_DELAY_MS = 1_000;

/** Job data holds ids and small numbers, never message contents. */
const schema = z.object({
  ...payloadFields,
  passId: idSchema,
  sequence: z.object({
    from: z.number().int().min(1),
    to: z.number().int().min(1),
    tokens: z.number().int().min(0),
    maxTokens: z.number().int().min(0),
    userTokens: z.number().int().min(0),
  }),
  hash: z.string().regex(/^[a-f0-9]{16,64}$/),
});

/**
 * Summarizes one range of messages for a compaction pass. On the last attempt, a failure is returned instead of thrown.
 */
export const summarizeJob: JobDefinition<SummarizationTask> = {
  name: 'summarization',
  queue: QUEUES.summarization,
  attempts: 3,
  backoffMs: 1_000,
  priority: DEFAULT_PRIORITY,
  write({ passId, sequence, hash, ...wake }) {
    return { ...writeWake(wake), passId, sequence, hash };
  },
  read(data) {
    const { tenant, id, traceParent, passId, sequence, hash } = parseInput(schema, data, 'job.data');
    return { conversation: { tenant, id }, passId, sequence, hash, ...(traceParent !== undefined && { traceParent }) };
  },
};
