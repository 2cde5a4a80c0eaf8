import { z } from 'zod';
import type { ConversationEvent } from '../../domain/conversation-event.ts';
import type { ConversationName } from './names.ts';
import { CONVERSATION, type Operations, TURN } from './operation.ts';
import { conversationEventSchema, turnPartSchema } from './stream-parts.ts';
import type { TurnPart } from './turn-parts.ts';

export interface StreamMethods {
  /**
   * Streams a turn from its start or behind a part. The text equals the log, however late or often the caller reads.
   * The last part is the settled turn. Throws the signal's reason once the signal aborts.
   */
  stream(conversation: ConversationName, turn: string, options?: StreamOptions): AsyncIterable<TurnPart>;
  /**
   * Follows durable events, oldest first. About 500 are kept, for 24 h. After a crash, pass the id of the last handled
   * event as `after`. Throws the signal's reason once the signal aborts.
   */
  events(conversation: ConversationName, options?: EventOptions): AsyncIterable<EventOrLoss>;
}

export interface StreamOptions {
  /** Id of the last handled part. Absent: from the start of the turn. */
  readonly after?: string;
  /** How long to follow the turn, in ms. Absent: until the turn settles. */
  readonly waitMs?: number;
  /** When this signal aborts, the stream throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** `lost`: events may be missing here, so recompute what you derived from events. */
export type EventOrLoss = ConversationEvent | { readonly type: 'lost' };

export interface EventOptions {
  /** Id of the last handled event. `'0'`: the oldest kept event. Absent: only events after the first read. */
  readonly after?: string;
  /** How long to follow events, in ms. Absent: until the signal aborts. 0: only the events that exist now. */
  readonly waitMs?: number;
  /** When this signal aborts, the iteration throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const after = z
  .string()
  .max(256)
  .optional()
  .describe('Id of the last handled event. The header `Last-Event-ID`, which browsers send, wins.');

const waitMs = z
  .number()
  .int()
  .min(0)
  .optional()
  .describe('How long to follow, in ms. Then an event `end` comes, and the stream ends. Absent: without a limit.');

export const streamOperations = {
  stream: {
    method: 'get',
    path: `${TURN}/events`,
    scope: 'read',
    errors: ['not_found'],
    summary: 'Stream a turn as server-sent events, from its start or from an event. The last event is `end`.',
    query: z.strictObject({ after, waitMs }),
    answer: turnPartSchema,
    answerType: 'text/event-stream',
  },
  events: {
    method: 'get',
    path: `${CONVERSATION}/events`,
    scope: 'read',
    errors: ['not_found'],
    summary: 'Follow the durable events of a conversation: settled turns, waits, new versions, proposals.',
    query: z.strictObject({ after, waitMs }),
    answer: conversationEventSchema,
    answerType: 'text/event-stream',
  },
} satisfies Operations;
