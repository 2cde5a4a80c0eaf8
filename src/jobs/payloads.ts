import { z } from 'zod';
import { type ConversationRef, idSchema, type TraceParent, traceParentSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { SummarizationTask } from '../domain/ports/queue.ts';

/**
 * Bump when an old worker could misread what a new program enqueues: it leaves such jobs to others. A field more needs none:
 * who does not know it reads over it, and the job keeps it.
 */
export const PAYLOAD_VERSION = 1;

const conversationFields = {
  v: z.literal(PAYLOAD_VERSION),
  tenant: idSchema,
  id: idSchema,
  /** the span of who asks; one that cannot be read is none */
  askedIn: traceParentSchema.optional().catch(undefined),
};

/** A wake: which conversation to look at, nothing else. */
export const wakePayloadSchema = z.object(conversationFields);

/** A summarization job: ids and small numbers, never content. */
export const summarizationPayloadSchema = z.object({
  ...conversationFields,
  passId: idSchema,
  sequence: z.object({
    from: z.number().int().min(1),
    to: z.number().int().min(1),
    tokens: z.number().int().min(0),
  }),
  hash: z.string().regex(/^[a-f0-9]{16,64}$/),
});

export type WakePayload = z.infer<typeof wakePayloadSchema>;
export type SummarizationPayload = z.infer<typeof summarizationPayloadSchema>;

const versionSchema = z.object({ v: z.number().gt(PAYLOAD_VERSION) });

/** Written by a program newer than this one. */
export function isNewerPayload(data: unknown): boolean {
  return versionSchema.safeParse(data).success;
}

export function wakePayload({ tenant, id }: ConversationRef, askedIn?: TraceParent): WakePayload {
  return { v: PAYLOAD_VERSION, tenant, id, ...(askedIn !== undefined && { askedIn }) };
}

/** @throws invalid_input for data that this version does not know */
export function readWake(data: unknown): ConversationRef {
  const { tenant, id } = parseInput(wakePayloadSchema, data, 'job.data');
  return { tenant, id };
}

/** The span of who asked for the job. */
export function readAskedIn(data: unknown): TraceParent | undefined {
  const read = wakePayloadSchema.safeParse(data);
  return read.success ? read.data.askedIn : undefined;
}

export function summarizationPayload({
  conversation,
  passId,
  sequence,
  hash,
  askedIn,
}: SummarizationTask): SummarizationPayload {
  const { from, to, tokens } = sequence;
  return { ...wakePayload(conversation, askedIn), passId, sequence: { from, to, tokens }, hash };
}

/** @throws invalid_input for data that this version does not know */
export function readSummarizationTask(data: unknown): SummarizationTask {
  const { tenant, id, askedIn, ...task } = parseInput(summarizationPayloadSchema, data, 'job.data');
  const { passId, sequence, hash } = task;
  return { conversation: { tenant, id }, passId, sequence, hash, ...(askedIn !== undefined && { askedIn }) };
}
