import { z } from 'zod';

/** Maximum characters of an id. */
export const MAX_ID_CHARACTERS = 128;

/**
 * Format of all ids: of conversations, turns, agents, tenants and operations. The caller chooses an id, or turnfold
 * makes a ULID.
 */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'must match [A-Za-z0-9_.-]{1,128}');

/** Tenant and id that identify a conversation. */
export interface ConversationRef {
  /** Tenant that owns the conversation (default `_`). */
  readonly tenant: string;
  /** Id of the conversation, unique within its tenant. */
  readonly id: string;
}

export const DEFAULT_TENANT = '_';

/** Tenant and id of a conversation, named as in API responses, events and JSON lines. */
export interface NamedConversation {
  /** Tenant that owns the conversation (default `_`). */
  readonly tenant: string;
  /** Id of the conversation, unique within its tenant. */
  readonly conversation: string;
}

export function nameConversation({ tenant, id }: ConversationRef): NamedConversation {
  return { tenant, conversation: id };
}

/**
 * Builds the id of a tool call in the log. The id is unique because each log entry has its own number. The provider's
 * id is stored beside this id, because providers may repeat their ids.
 */
export function callIdAt(seq: number, index: number): string {
  return `c${seq}_${index}`;
}

/** Returns the number of the log entry that made a tool call, from the call's id. */
export function seqOfCallId(callId: string): number {
  return Number(callId.slice(1, callId.indexOf('_')));
}

/** Returns the index of a tool call within its message, from 0. */
export function indexOfCallId(callId: string): number {
  return Number(callId.slice(callId.indexOf('_') + 1));
}

/**
 * A trace span as a W3C `traceparent` string of 55 characters. The span is stored with a turn and in job data, so that
 * a worker's spans join the caller's trace.
 */
export const traceParentSchema = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

export type TraceParent = z.infer<typeof traceParentSchema>;

/** Prefix of the ids under which a worker owns turns, compaction passes and summaries. A ULID contains no `-`. */
export function ownerPrefix(worker: string): string {
  return `${worker}-`;
}
