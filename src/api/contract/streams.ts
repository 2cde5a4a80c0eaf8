import { z } from 'zod';
import type { ConversationEvent } from '../../domain/conversation-event.ts';
import { idSchema } from '../../domain/ids.ts';
import { SETTLED_STATES, WAIT_KINDS } from '../../domain/turn.ts';
import { usageSchema } from './conversations.ts';
import type { ConversationName } from './names.ts';
import { CONVERSATION, type Operations, TURN, timeSchema, unboundedList, unboundedRecord } from './operation.ts';
import type { TurnPart } from './turn-parts.ts';
import { openWaitSchema, turnSchema } from './turns.ts';

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

/* Schemas of the events that the routes stream, for the OpenAPI document. `id` is the id of the server-sent event. */

const step = z.number().describe('Number of the model step within the turn, from 1.');
const call = z.string().describe('Id of the call, as in the log and for an answer.');
const tokens = z.number().describe('Tokens.');

function part<Type extends string, Fields extends z.core.$ZodLooseShape>(id: string, type: Type, fields: Fields) {
  return z.looseObject({ type: z.literal(type), ...fields }).meta({ id });
}

const decisionSchema = z.looseObject({
  approved: z.boolean().optional(),
  at: timeSchema,
  by: z.string().optional().describe('Person or program that decided.'),
});

const turnPartSchema = z
  .discriminatedUnion('type', [
    part('TextPart', 'text', { step, piece: z.string().describe('Characters behind those of the last piece.') }),
    part('ReasoningPart', 'reasoning', { step, piece: z.string() }),
    part('ToolCallStartPart', 'tool-call-start', { step, call, name: z.string() }),
    part('ToolCallArgumentsPart', 'tool-call-arguments', { step, call, piece: z.string() }),
    part('ToolCallPart', 'tool-call', {
      step,
      call,
      name: z.string(),
      arguments: z.string().describe('JSON object as text, exactly as the model wrote it.'),
    }),
    part('ToolResultPart', 'tool-result', {
      step,
      call,
      content: z.string(),
      parts: unboundedList(z.unknown()).optional().describe('Texts, images and files of the result.'),
      isError: z.boolean(),
      decision: decisionSchema.optional(),
    }),
    part('ProgressPart', 'progress', {
      step,
      call,
      text: z.string().optional(),
      done: z.number().optional(),
      total: z.number().optional(),
    }),
    part('DataPart', 'data', { step, call, name: z.string(), key: z.string().optional(), data: z.unknown() }),
    part('SteeringPart', 'steering', { step, turn: idSchema, seq: z.number(), content: z.string() }),
    part('RestartPart', 'restart', { step }),
    part('WaitPart', 'wait', { waiting: openWaitSchema }),
    part('BehindPart', 'behind', { turn: idSchema, waiting: openWaitSchema }),
    part('CompactionPart', 'compaction', {
      version: z.number(),
      tokensBefore: tokens,
      tokensAfter: tokens,
      archived: z.number().describe('Number of messages that left the context.'),
    }),
    part('EndPart', 'end', { view: turnSchema }),
  ])
  .meta({ id: 'TurnPart', description: 'A part of a turn, as in docs/reference/client.md. The last part is `end`.' });

const at = timeSchema;

const versionFields = {
  at,
  strategy: z.string(),
  archived: z.number().describe('Number of messages that left the context.'),
  tokensBefore: tokens,
  tokensAfter: tokens,
  reasons: unboundedList(z.string()),
};

const reportedCall = z.looseObject({ id: z.string(), name: z.string(), arguments: z.string(), until: timeSchema });

const conversationEventSchema = z
  .discriminatedUnion('type', [
    part('TurnSettledEvent', 'turn_settled', {
      at,
      turn: idSchema,
      state: z.enum(SETTLED_STATES),
      usage: usageSchema.optional(),
    }),
    part('TurnSteeredEvent', 'turn_steered', { at, turn: idSchema, into: idSchema, seq: z.number() }),
    part('TurnWaitingEvent', 'turn_waiting', {
      at,
      turn: idSchema,
      for: z.enum(WAIT_KINDS),
      until: timeSchema,
      calls: unboundedList(reportedCall),
    }),
    part('VersionCommittedEvent', 'version_committed', {
      ...versionFields,
      version: z.number(),
      cause: z.string(),
      durationMs: z.number(),
      model: z.string().optional(),
    }),
    part('PassEndedEvent', 'pass_ended', { at, passId: z.string(), outcome: z.string() }),
    part('VersionProposedEvent', 'version_proposed', { ...versionFields, passId: z.string(), proposal: idSchema }),
    part('ProposalDecidedEvent', 'proposal_decided', {
      at,
      proposal: idSchema,
      verdict: z.enum(['approve', 'reject']),
      reason: z.string().optional(),
    }),
    part('ApprovalRefusedEvent', 'approval_refused', { at, passId: z.string(), code: z.string() }),
    part('UnknownEvent', 'unknown', { at, name: z.string(), fields: unboundedRecord(z.string()) }),
    part('LostEvents', 'lost', {}),
    part('EndOfEvents', 'end', {}),
  ])
  .meta({
    id: 'ConversationEvent',
    description: 'A durable event, or `lost`, as in docs/reference/client.md. After `waitMs`, `end`.',
  });

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
    command: 'enqueue',
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
    command: 'events',
    errors: ['not_found'],
    summary: 'Follow the durable events of a conversation: settled turns, waits, new versions, proposals.',
    query: z.strictObject({ after, waitMs }),
    answer: conversationEventSchema,
    answerType: 'text/event-stream',
  },
} satisfies Operations;
