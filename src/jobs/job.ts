import { z } from 'zod';
import { type ConversationRef, idSchema, type TraceParent, traceParentSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { QueueName } from './queues.ts';

/** One kind of job. The queue carries it and knows nothing else about it. */
export interface JobDefinition<Task> {
  readonly name: string;
  readonly queue: QueueName;
  /** Runs after which an error is final. */
  readonly attempts: number;
  /** ms between two attempts. */
  readonly backoffMs: number;
  readonly priority: number;
  readonly write: (task: Task) => object;
  /** @throws invalid_input for data that this version does not know */
  readonly read: (data: unknown) => Task;
}

/**
 * Bump this when an old worker could misread the payload of a new program. Old workers leave jobs of a newer version to
 * others. An added field needs no bump: old workers ignore it.
 */
export const PAYLOAD_VERSION = 1;

/** Deliveries of a job of a newer program before the job is dropped. They take about a minute: time for a newer worker. */
export const NEWER_PAYLOAD_TRIES = 6;
/** First delay of a job of a newer program. The delay doubles with each delivery. */
export const NEWER_PAYLOAD_DELAY_MS = 1_000;

const versionSchema = z.object({ v: z.number().gt(PAYLOAD_VERSION) });

export function isNewerPayload(data: unknown): boolean {
  return versionSchema.safeParse(data).success;
}

/** Fields that every payload has. An unreadable trace parent counts as absent. */
export const payloadFields = {
  v: z.literal(PAYLOAD_VERSION),
  tenant: idSchema,
  id: idSchema,
  askedIn: traceParentSchema.optional().catch(undefined),
};

/** Asks a worker to claim the turn or pass of a conversation. The state itself is in Redis. */
export interface WakeTask {
  readonly conversation: ConversationRef;
  /** Span of the caller. */
  readonly askedIn?: TraceParent | undefined;
}

const wakeSchema = z.object(payloadFields);

export function writeWake({ conversation: { tenant, id }, askedIn }: WakeTask): z.infer<typeof wakeSchema> {
  return { v: PAYLOAD_VERSION, tenant, id, ...(askedIn !== undefined && { askedIn }) };
}

/** @throws invalid_input */
export function readWake(data: unknown): WakeTask {
  const { tenant, id, askedIn } = parseInput(wakeSchema, data, 'job.data');
  return { conversation: { tenant, id }, ...(askedIn !== undefined && { askedIn }) };
}
