import { z } from 'zod';
import { boundedList, boundedRecord } from '../../domain/bounded-schemas.ts';
import { ownerSchema, titleSchema } from '../../domain/conversation-about.ts';
import { idSchema } from '../../domain/ids.ts';
import { LEAVE_CAUSES, type LogEntry, messageSchema, toolCallSchema } from '../../domain/message.ts';
import type { HistoryNote } from '../../wire/histories/notes.ts';
import type { AnyAgents, NameAgent } from './agent-types.ts';
import { type ConversationName, conversationFields } from './names.ts';
import { CONVERSATION, limitOf, type Operations, type RouteError, unboundedList } from './operation.ts';

export interface MessageMethods<Agents extends AnyAgents = AnyAgents> {
  /** Appends messages to the log without a turn, for callers that call the model themselves. */
  append(input: AppendFor<Agents>): Promise<Appended>;
  /** Returns the log or a part of it, including messages that compaction removed from the context. */
  log(conversation: ConversationName, part?: LogPart): Promise<LogEntry[]>;
}

export interface AppendInput {
  readonly conversation: string;
  readonly tenant?: string | undefined;
  readonly agent: string;
  /**
   * At most 5,000 messages, oldest first, in the format of turnfold, OpenAI, Anthropic, the AI SDK, LangChain or
   * Ollama. Earlier calls without a result are closed.
   */
  readonly messages: readonly (MessageInput | ForeignMessage)[];
  /** Id under which a repeated call changes nothing. */
  readonly operation?: string | undefined;
  /** The append fails with `conflict` unless the log ends at this position (seq). */
  readonly expectedHead?: number | undefined;
  /** True: messages that would have to be repaired are refused. */
  readonly strict?: boolean | undefined;
  /** Owner of a new conversation (none). With a conversation of another owner, the call fails with `conflict`. */
  readonly owner?: string | undefined;
  /** Title of a new conversation (the first words of the first user message). An existing title stays. */
  readonly title?: string | undefined;
}

const MAX_MESSAGES = 5_000;

type MessageInput = z.input<typeof messageSchema>;

export type ForeignMessage = Readonly<Record<string, unknown>>;

export const appendSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  messages: boundedList(z.unknown(), MAX_MESSAGES).refine(
    (messages) => messages.length > 0,
    'expected at least one message',
  ),
  operation: idSchema.optional(),
  expectedHead: z.number().int().min(0).optional(),
  strict: z.boolean().optional(),
  owner: ownerSchema.optional().describe('Owner of a new conversation. A conversation of another owner is refused.'),
  title: titleSchema.optional().describe('Title of a new conversation. An existing title stays.'),
});

/** Positions (seq) of the appended messages. */
export interface Appended {
  readonly from: number;
  readonly to: number;
  /** Changes that made the messages a valid history. A repeated call has no notes. */
  readonly notes?: readonly HistoryNote[];
}

export type AppendFor<Agents extends AnyAgents> = NameAgent<AppendInput, Agents>;

export const logPartSchema = z.strictObject({
  /** Position (seq) before the first entry (0). */
  after: z.number().int().min(0).optional(),
  /** Absent: all entries. */
  limit: z.number().int().min(1).optional(),
  /** Maximum bytes of the part. The first entry is returned even if it is larger. */
  maxBytes: z.number().int().min(1).optional(),
});

export type LogPart = z.input<typeof logPartSchema>;

/** More fields than a message has in any format of `src/wire/histories`. */
export const MAX_MESSAGE_FIELDS = 100;

const givenMessages = boundedList(boundedRecord(z.string(), z.unknown(), MAX_MESSAGE_FIELDS), MAX_MESSAGES)
  .min(1, 'expected at least one message')
  .meta({
    description:
      'Messages, oldest first, each in the format of turnfold, OpenAI Chat, Anthropic, the AI SDK, LangChain or Ollama.',
    override: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_MESSAGES,
      items: {
        type: 'object',
        properties: {
          role: { enum: ['system', 'developer', 'user', 'assistant', 'tool', 'function'] },
          content: { description: 'Text, or a list of content parts.' },
        },
        required: ['role'],
      },
    },
  });

const answeredMessage = messageSchema
  .extend({
    toolCalls: unboundedList(toolCallSchema).optional(),
    parts: unboundedList(z.unknown()).optional(),
    raw: z.unknown().optional(),
    data: unboundedList(z.looseObject({ name: z.string(), key: z.string().optional(), data: z.unknown() })).optional(),
  })
  .meta({ id: 'Message' });

export const itemSchema = z
  .looseObject({
    from: z.number().describe('Position (seq) of the first log entry that the message stands for.'),
    to: z.number().describe('Position (seq) of the last one. A summary stands for several.'),
    tokens: z.number(),
    bytes: z.number().optional().describe('In the log: bytes of the message.'),
    total: z
      .looseObject({ tokens: z.number(), bytes: z.number() })
      .optional()
      .describe('In the log: size of the log up to this message.'),
    message: answeredMessage,
    turn: idSchema.optional().describe('Turn that wrote the message.'),
    at: z.number().optional().describe('Time of the write, in ms since epoch.'),
    left: z
      .enum(LEAVE_CAUSES)
      .optional()
      .describe('In the log: why the message left the context when its turn was settled.'),
  })
  .meta({ id: 'ContextItem' });

const messagePageSchema = z
  .looseObject({
    items: unboundedList(itemSchema),
    next: z.number().optional().describe('Send as `after` for the next page. Absent on the last page.'),
  })
  .meta({ id: 'MessagePage' });

const notesSchema = unboundedList(
  z.looseObject({ at: z.string(), kind: z.enum(['mapped', 'repaired', 'left_out']), what: z.string() }),
)
  .optional()
  .describe('Changes that made the messages a valid history.');

const appendedSchema = z
  .looseObject({
    from: z.number(),
    to: z.number(),
    notes: notesSchema,
  })
  .meta({ id: 'Appended' });

const exportSchema = z
  .looseObject({ id: idSchema, messages: unboundedList(answeredMessage) })
  .meta({ id: 'ExportedConversation' });

const importedSchema = z
  .looseObject({ conversation: idSchema, messages: z.number(), notes: notesSchema })
  .meta({ id: 'ImportedConversation' });

const strict = appendSchema.shape.strict;

/** Errors of the operations that write messages without a turn. */
const OF_MESSAGES: readonly RouteError[] = [
  'agent_conflict',
  'conflict',
  'conversation_busy',
  'conversation_forking',
  'fork_abandoned',
  'orphan_result',
  'message_too_large',
];

export const messageOperations = {
  append: {
    method: 'post',
    path: `${CONVERSATION}/messages`,
    scope: 'enqueue',
    command: { none: 'for loops of your own, which are programs' },
    errors: OF_MESSAGES,
    summary: 'Append messages to the log without a turn, for callers that call the model themselves.',
    repeatedBy: 'operation',
    keyName: 'appendMessages',
    args: [],
    body: z.strictObject({
      agent: appendSchema.shape.agent,
      messages: givenMessages,
      operation: appendSchema.shape.operation,
      expectedHead: appendSchema.shape.expectedHead,
      strict: strict.describe('True: messages that would have to be repaired are refused.'),
      owner: appendSchema.shape.owner,
      title: appendSchema.shape.title,
    }),
    status: 201,
    answer: appendedSchema,
  },
  log: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/messages`,
    scope: 'read',
    command: 'export',
    errors: ['not_found'],
    summary: 'List messages in pages: the whole log, or only those that the agent sees.',
    query: z.strictObject({
      view: z.enum(['all', 'active']).default('all').describe('all: the log. active: the live context.'),
      after: z.number().int().min(0).default(0).describe('Position (seq) behind which the page starts.'),
      limit: limitOf(1_000),
    }),
    answer: messagePageSchema,
  },
  exportConversation: {
    method: 'get',
    path: `${CONVERSATION}/export`,
    scope: 'read',
    command: 'export',
    errors: ['not_found', 'too_many_readers'],
    summary: 'Return the whole log as one JSON object, messages that left the context included.',
    answer: exportSchema,
  },
  importConversation: {
    method: 'post',
    path: `${CONVERSATION}/import`,
    scope: 'enqueue',
    command: 'import',
    errors: OF_MESSAGES,
    summary: 'Create a conversation from recorded messages. A repeated import changes nothing.',
    body: z.strictObject({
      agent: appendSchema.shape.agent,
      id: z.string().optional().describe('Ignored, so that an export can be sent as it is.'),
      messages: givenMessages,
      strict: strict.describe('True: a history that would have to be repaired is refused.'),
      owner: appendSchema.shape.owner,
      title: appendSchema.shape.title,
    }),
    status: 201,
    answer: importedSchema,
  },
} satisfies Operations;
