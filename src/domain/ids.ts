import { z } from 'zod';

export const MAX_ID_CHARACTERS = 128;

/** Ids of conversations, turns, agents, tenants and operations. The caller chooses an id, or turnfold makes a ULID. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'must match [A-Za-z0-9_.-]{1,128}');

export interface ConversationRef {
  /** Default `_`. */
  readonly tenant: string;
  readonly id: string;
}

export const DEFAULT_TENANT = '_';

/** A `ConversationRef` with the names of API responses, events and JSON lines. */
export interface NamedConversation {
  readonly tenant: string;
  readonly conversation: string;
}

export function nameConversation({ tenant, id }: ConversationRef): NamedConversation {
  return { tenant, conversation: id };
}

/** Id of a call in the log, unique because each log entry has its own number. The provider's id is also stored. */
export function callIdAt(seq: number, index: number): string {
  return `c${seq}_${index}`;
}

export function seqOfCallId(callId: string): number {
  return Number(callId.slice(1, callId.indexOf('_')));
}

export function indexOfCallId(callId: string): number {
  return Number(callId.slice(callId.indexOf('_') + 1));
}

/** A W3C `traceparent`, stored with turns and jobs, so that worker spans join the caller's trace. */
export const traceParentSchema = z.string().regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);

export type TraceParent = z.infer<typeof traceParentSchema>;

/** Ids under which a worker owns turns, passes and summaries begin with this. A ULID contains no `-`. */
export function ownerPrefix(worker: string): string {
  return `${worker}-`;
}

/** Name of an operation in the store, which refuses a known id with another hash. Ids contain no slash. */
export function nameOperation(id: string, payloadHash: string): string {
  return `${id}/${payloadHash}`;
}

export function operationId(operation: string): string {
  return operation.split('/', 1)[0] ?? '';
}
