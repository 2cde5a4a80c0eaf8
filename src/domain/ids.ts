import { z } from 'zod';

/** Ids of conversations, turns, agents, tenants and operations: the caller's, or a ULID. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'must match [A-Za-z0-9_.-]{1,128}');

/** Where a conversation lives. The tenant is `_` unless the service has several. */
export interface ConversationRef {
  /** whose conversation it is; `_` by default */
  readonly tenant: string;
  /** its id */
  readonly id: string;
}

export const DEFAULT_TENANT = '_';

/** A conversation as every view, event and JSON line names it. */
export interface NamedConversation {
  /** whose conversation it is; `_` by default */
  readonly tenant: string;
  /** its id */
  readonly conversation: string;
}

export function nameConversation({ tenant, id }: ConversationRef): NamedConversation {
  return { tenant, conversation: id };
}

/**
 * The call id that the log uses: unique by construction, since a log has one entry per seq. The provider's own id may
 * repeat from one response to the next; it is kept beside this one.
 */
export function callIdAt(seq: number, index: number): string {
  return `c${seq}_${index}`;
}

/** The seq of the assistant message that made a call. */
export function seqOfCallId(callId: string): number {
  return Number(callId.slice(1, callId.indexOf('_')));
}

/** The place of a call among the calls of its message, from 0. */
export function indexOfCallId(callId: string): number {
  return Number(callId.slice(callId.indexOf('_') + 1));
}
