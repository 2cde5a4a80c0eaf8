import { z } from 'zod';
import { idSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { SummarizationTask } from '../domain/ports/queue.ts';
import { type JobDefinition, payloadFields, writeWake } from './job.ts';
import { DEFAULT_PRIORITY, QUEUES } from './queues.ts';

/** Delay of a job whose source another job is summarizing. */
export const IN_FLIGHT_DELAY_MS = 1_000;

/** Ids and small numbers, never content. */
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

/** Summarizes one sequence of a pass. The last attempt returns its failure as a value. */
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
    const { tenant, id, askedIn, passId, sequence, hash } = parseInput(schema, data, 'job.data');
    return { conversation: { tenant, id }, passId, sequence, hash, ...(askedIn !== undefined && { askedIn }) };
  },
};
