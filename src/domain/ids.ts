import { z } from 'zod';

/** Ids of conversations, turns, agents, tenants and operations: chosen by the caller, or a ULID. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'must match [A-Za-z0-9_.-]{1,128}');

/** Address of a conversation. */
export interface ConversationRef {
  /** Tenant that owns the conversation. `_` by default. */
  readonly tenant: string;
  /** Id of the conversation within its tenant. */
  readonly id: string;
}

export const DEFAULT_TENANT = '_';

/** Address of a conversation in views, events and JSON lines. */
export interface NamedConversation {
  /** Tenant that owns the conversation. `_` by default. */
  readonly tenant: string;
  /** Id of the conversation within its tenant. */
  readonly conversation: string;
}

export function nameConversation({ tenant, id }: ConversationRef): NamedConversation {
  return { tenant, conversation: id };
}

/**
 * Builds the call id that the log uses. It is unique, since a log has one entry per seq. The log keeps the provider's
 * own id beside it, because providers may repeat theirs.
 */
export function callIdAt(seq: number, index: number): string {
  return `c${seq}_${index}`;
}

/** Seq of the assistant message that made a call. */
export function seqOfCallId(callId: string): number {
  return Number(callId.slice(1, callId.indexOf('_')));
}

/** Index of a call among the calls of its message, from 0. */
export function indexOfCallId(callId: string): number {
  return Number(callId.slice(callId.indexOf('_') + 1));
}

/**
 * A span as W3C `traceparent`: 55 characters of ids, without content. It travels in a turn's record and in job data, so
 * that the work joins the trace of its caller.
 */
export const traceParentSchema = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

export type TraceParent = z.infer<typeof traceParentSchema>;
