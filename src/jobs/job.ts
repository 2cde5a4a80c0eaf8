import { z } from 'zod';
import { type ConversationRef, idSchema, type TraceParent, traceParentSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { SummarizationTask } from './ports.ts';
import { DEFAULT_PRIORITY, QUEUES, type QueueName } from './queues.ts';

/** A kind of queue job. The queue code uses only these properties of a job. */
export interface JobDefinition<Task> {
  readonly name: string;
  readonly queue: QueueName;
  /** Maximum number of runs. If the last run throws, the job has failed. */
  readonly attempts: number;
  /** Milliseconds between two runs of a failed job. */
  readonly backoffMs: number;
  readonly priority: number;
  readonly write: (task: Task) => object;
  /**
   * Parses the data of a job.
   * @throws invalid_input if the data has an unknown format
   */
  readonly read: (data: unknown) => Task;
}

/**
 * Format version of job data. Increase it if an older worker could misread the new data. Older workers leave jobs with
 * a newer format to other workers. Adding a field needs no increase, because older workers ignore unknown fields.
 */
export const PAYLOAD_VERSION = 1;

/**
 * Number of times that a job with a newer format is delivered before it is dropped. All deliveries take about a minute,
 * so that a newer worker can take it.
 */
export const NEWER_PAYLOAD_TRIES = 6;
/** First delay in ms of a job with a newer format. The delay doubles with each delivery. */
export const NEWER_PAYLOAD_DELAY_MS = 1_000;

const versionSchema = z.object({ v: z.number().gt(PAYLOAD_VERSION) });

export function isNewerPayload(data: unknown): boolean {
  return versionSchema.safeParse(data).success;
}

/** Fields that all job data has. An invalid trace parent counts as absent. */
const payloadFields = {
  v: z.literal(PAYLOAD_VERSION),
  tenant: idSchema,
  id: idSchema,
  traceParent: traceParentSchema.optional().catch(undefined),
};

/** Wakes a worker to claim the turn or compaction pass of a conversation. All state is in Redis, not in the job. */
export interface WakeTask {
  readonly conversation: ConversationRef;
  /** Trace span of the caller that requested the work. */
  readonly traceParent?: TraceParent | undefined;
}

const wakeSchema = z.object(payloadFields);

export function writeWake({ conversation: { tenant, id }, traceParent }: WakeTask): z.infer<typeof wakeSchema> {
  return { v: PAYLOAD_VERSION, tenant, id, ...(traceParent !== undefined && { traceParent }) };
}

/**
 * Parses the data of a wake job.
 * @throws invalid_input if the data has an unknown format
 */
function readWake(data: unknown): WakeTask {
  const { tenant, id, traceParent } = parseInput(wakeSchema, data, 'job.data');
  return { conversation: { tenant, id }, ...(traceParent !== undefined && { traceParent }) };
}

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
