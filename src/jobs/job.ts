import { z } from 'zod';
import { type ConversationRef, idSchema, type TraceParent, traceParentSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { SummarizationTask } from './ports.ts';
import { DEFAULT_PRIORITY, QUEUES, type QueueName } from './queues.ts';

/** All that the queue knows about a kind of job. */
export interface JobDefinition<Task> {
  readonly name: string;
  readonly queue: QueueName;
  /** Most runs of a job. If the last of them throws, the job has failed. */
  readonly attempts: number;
  readonly backoffMs: number;
  readonly priority: number;
  readonly write: (task: Task) => object;
  /** @throws invalid_input if the data has an unknown format */
  readonly read: (data: unknown) => Task;
}

/**
 * Version of the job data. Increase the version only if an older worker could misread new data: workers leave jobs of a
 * newer version to others, but ignore unknown fields.
 */
export const PAYLOAD_VERSION = 1;

/**
 * Deliveries of a job of a newer release, before the job is dropped. Together they take a minute, in which a newer
 * worker can take the job.
 */
export const NEWER_PAYLOAD_TRIES = 6;
/** Delay after the first delivery of a job of a newer release. The delay doubles with each delivery. */
export const NEWER_PAYLOAD_DELAY_MS = 1_000;

const versionSchema = z.object({ v: z.number().gt(PAYLOAD_VERSION) });

export function isNewerPayload(data: unknown): boolean {
  return versionSchema.safeParse(data).success;
}

/** Fields of every job. An invalid trace parent counts as absent. */
const payloadFields = {
  v: z.literal(PAYLOAD_VERSION),
  tenant: idSchema,
  id: idSchema,
  traceParent: traceParentSchema.optional().catch(undefined),
};

/** A job that says "look at this conversation". All state is in Redis. */
export interface WakeTask {
  readonly conversation: ConversationRef;
  readonly traceParent?: TraceParent | undefined;
}

const wakeSchema = z.object(payloadFields);

export function writeWake({ conversation: { tenant, id }, traceParent }: WakeTask): z.infer<typeof wakeSchema> {
  return { v: PAYLOAD_VERSION, tenant, id, ...(traceParent !== undefined && { traceParent }) };
}

function readWake(data: unknown): WakeTask {
  const { tenant, id, traceParent } = parseInput(wakeSchema, data, 'job.data');
  return { conversation: { tenant, id }, ...(traceParent !== undefined && { traceParent }) };
}

/** A wake job is not retried: the sweeper adds a new job for every turn or pass that is still due. */
function wakeJob(name: string, queue: QueueName): JobDefinition<WakeTask> {
  return { name, queue, attempts: 1, backoffMs: 0, priority: DEFAULT_PRIORITY, write: writeWake, read: readWake };
}

export const wakeTurnJob = wakeJob('turn', QUEUES.turn);

/** Job for a compaction pass, and parent of the summarization jobs of that pass. */
export const wakePassJob = wakeJob('pass', QUEUES.compaction);

/** Delay of a job while another job summarizes the same messages. */
export const IN_FLIGHT_DELAY_MS = 1_000;

/** The data holds ids and small numbers, never contents of a conversation. */
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

/** Job that summarizes one sequence. On the last attempt, the handler returns a failure instead of throwing it. */
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
