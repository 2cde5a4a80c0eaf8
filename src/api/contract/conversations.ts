import { z } from 'zod';
import { CONVERSATION_STATES, type ConversationState } from '../../domain/conversation.ts';
import {
  type ConversationAbout,
  conversationMetadataSchema,
  ownerSchema,
  titleSchema,
} from '../../domain/conversation-about.ts';
import type { OpenCall } from '../../domain/history.ts';
import { DEFAULT_TENANT, idSchema, type NamedConversation } from '../../domain/ids.ts';
import { LEAVE_CAUSES } from '../../domain/message.ts';
import {
  SETTLED_STATES,
  type TurnMetadata,
  type TurnUsage,
  WAIT_KINDS,
  type WaitingCall,
  waitingCallSchema,
} from '../../domain/turn.ts';
import type { ListedConversation } from '../../store/listings.ts';
import type { ServedAgent } from '../../store/presence.ts';
import type { AnyAgents, NameAgent } from './agent-types.ts';
import { type ConversationName, contextPointSchema, nextSchema, pageFields } from './names.ts';
import { CONVERSATION, type Operations, timeSchema, unboundedList, unboundedRecord } from './operation.ts';

export interface ConversationMethods<Agents extends AnyAgents = AnyAgents> {
  /** Lists conversations in pages, without erased and expired ones. */
  conversations(input?: ConversationsFor<Agents>): Promise<ConversationPage>;
  /** Lists the agents that running workers have, by name. A worker that was killed counts for up to 20 s. */
  agents(): Promise<ServedAgent[]>;
  /** Returns tokens and price of a tenant's model calls: settled turns and summaries, also of erased conversations. */
  usage(input?: UsageInput): Promise<TurnUsage>;
  /** Returns the state of a conversation without its messages. */
  describe(conversation: ConversationName): Promise<ConversationView>;
  /** Changes owner, title or metadata of a conversation. A value of null removes the old one. Other values stay. */
  updateConversation(conversation: ConversationName, change: ConversationChange): Promise<ConversationDetails>;
  /** Erases all data of a conversation. A repeated call also erases a new conversation under that id. */
  erase(conversation: ConversationName): Promise<{ readonly removedKeys: number }>;
  /** Copies a conversation into a new one, which accepts no turns until the copy is complete. */
  fork(from: ConversationName, to: ConversationName, input?: ForkInput): Promise<Fork>;
}

/** `stable`: no conversation changes its place while a caller pages. `newest`: by the time of the last message. */
const ORDERS = ['stable', 'newest'] as const;

const conversationsQuery = z.strictObject({
  ...pageFields,
  /** Order of the list (`newest` with `owner`, otherwise `stable`). */
  order: z
    .enum(ORDERS)
    .optional()
    .describe('stable: by shard and id. newest: by the time of the last message (newest with owner, else stable).'),
  /** Only conversations of this owner, newest first. */
  owner: ownerSchema.optional().describe('Only conversations of this owner, newest first.'),
  agent: idSchema.optional().describe('Only conversations of this agent.'),
  /** Only conversations whose id contains this text. Absent: all ids. */
  idContains: z.string().min(1).max(128).optional().describe('Only conversations whose id contains this text.'),
  state: z.enum(CONVERSATION_STATES).optional().describe('Only conversations in this state.'),
  /** Only conversations whose metadata have this value, as `name=value`. The first `=` ends the name. Absent: all. */
  metadata: z
    .string()
    .max(577)
    .regex(/^[^=]{1,64}=/, 'expected name=value, such as team=red')
    .optional()
    .describe('Only conversations whose metadata have this value, as name=value. The first = ends the name.'),
});

export const conversationsSchema = conversationsQuery.extend({
  /** Only conversations of this tenant. Absent: all tenants, or the default tenant in the order `newest`. */
  tenant: idSchema.optional(),
});

export const usageInputSchema = z.strictObject({
  tenant: idSchema.default(DEFAULT_TENANT),
});

export type ConversationsInput = z.input<typeof conversationsSchema>;
export type UsageInput = z.input<typeof usageInputSchema>;

export type ConversationsFor<Agents extends AnyAgents> = NameAgent<ConversationsInput, Agents>;

export interface ConversationPage {
  /** Conversations in the order of the request. */
  readonly conversations: readonly ListedConversation[];
  /** Cursor for the next page, to pass as `after`. Absent on the last page. Other pages may be short or empty. */
  readonly next?: string;
}

/** A tool call without a result. If its turn waits for it, the view also has input, hash, deadline and decision. */
export type OpenCallView = OpenCall & Omit<WaitingCall, 'until'> & Partial<Pick<WaitingCall, 'until'>>;

export interface ConversationView extends Omit<ConversationState, 'incarnation' | 'openCalls'>, ConversationAbout {
  /** Oldest first. They belong to the current turn, or to a caller that appends messages without turns. */
  readonly openCalls: readonly OpenCallView[];
}

export const forkSchema = contextPointSchema.extend({
  /** Id that makes a repeated call resume an interrupted fork, or return the finished one. */
  operation: idSchema.optional(),
});

export type ForkInput = z.input<typeof forkSchema>;

export interface Fork extends NamedConversation {
  /** Position (seq) of the last log entry that was copied. */
  readonly head: number;
}

export const conversationChangeSchema = z
  .strictObject({
    owner: ownerSchema
      .nullable()
      .optional()
      .describe('New owner, or null for none. Needs the scope `admin` over HTTP.'),
    title: titleSchema.nullable().optional().describe('New title, or null for none.'),
    metadata: conversationMetadataSchema
      .nullable()
      .optional()
      .describe('New names and values instead of the old ones, or null for none. No model reads them.'),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), 'expected owner, title or metadata');

/** Changes of a conversation. An absent value stays, and null removes the old one. */
export interface ConversationChange {
  /** The person or account to whom the conversation belongs, at most 128 characters. */
  readonly owner?: string | null | undefined;
  /** Title for lists, at most 200 characters. */
  readonly title?: string | null | undefined;
  /** Names and values instead of the old ones, at most 16, of 64 and 512 characters. */
  readonly metadata?: TurnMetadata | null | undefined;
}

/** Facts that people state about a conversation, and its agent. */
export interface ConversationDetails extends NamedConversation, ConversationAbout {
  readonly agent: string;
}

const aboutFields = {
  owner: z.string().optional().describe('The person or account to whom the conversation belongs.'),
  title: z.string().optional().describe('The title that a caller set, or the first words of the first message.'),
  metadata: unboundedRecord(z.string()).optional().describe('Names and values that a caller set.'),
  createdAt: timeSchema,
  lastAt: timeSchema.describe('Time of the last accepted turn or appended message, in ms since epoch.'),
};

const conversationPageSchema = z
  .looseObject({
    conversations: unboundedList(
      z.looseObject({
        conversation: idSchema,
        agent: idSchema,
        state: z.enum(CONVERSATION_STATES),
        head: z.number(),
        turns: z.number(),
        mailbox: z.number(),
        waitsFor: z.enum(WAIT_KINDS).optional(),
        lastTurn: z.looseObject({ state: z.enum(SETTLED_STATES), settledAt: z.number() }).optional(),
        isForking: z.literal(true).optional(),
        ...aboutFields,
      }),
    ),
    next: nextSchema,
  })
  .meta({ id: 'ConversationPage' });

export const usageSchema = z
  .looseObject({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cachedTokens: z.number().optional().describe('Part of inputTokens that providers read from their caches.'),
    costMicros: z.number().optional().describe('Price in millionths of a US dollar.'),
  })
  .meta({ id: 'Usage', description: 'Usage of model calls, as providers counted it.' });

const conversationSchema = z
  .looseObject({
    conversation: idSchema,
    agent: idSchema,
    ...aboutFields,
    head: z.number().describe('Number of messages in the log.'),
    turns: z.number(),
    openCalls: unboundedList(z.looseObject(waitingCallSchema.partial({ until: true }).shape)),
    size: z.looseObject({ version: z.number().describe('Number of the live version.') }),
    passed: z.looseObject({ head: z.number(), turns: z.number() }),
    backoff: z.looseObject({}),
    spent: usageSchema.optional().describe('Usage of all settled turns and summaries.'),
    passId: z.string().optional().describe('Compaction that is requested or in progress.'),
    left: unboundedList(z.looseObject({ from: z.number(), to: z.number(), why: z.enum(LEAVE_CAUSES) }))
      .optional()
      .describe('Messages of the last 64 turns that left the context when they were settled.'),
  })
  .meta({ id: 'Conversation' });

const detailsSchema = z
  .looseObject({ conversation: idSchema, agent: idSchema, ...aboutFields })
  .meta({ id: 'ConversationDetails' });

const agentsSchema = z
  .looseObject({
    agents: unboundedList(
      z.looseObject({
        agent: idSchema,
        workers: z.number().describe('Number of running workers that have the agent.'),
        roles: unboundedList(z.string()).describe('Roles of these workers. Without `turn`, no turn is answered.'),
      }),
    ),
  })
  .meta({ id: 'Agents' });

const erasedSchema = z.looseObject({ removedKeys: z.number() }).meta({ id: 'Erased' });

const forkAnswer = z.looseObject({ conversation: idSchema, head: z.number() }).meta({ id: 'Fork' });

export const conversationOperations = {
  conversations: {
    method: 'get',
    path: '/v1/conversations',
    scope: 'read',
    command: 'conversations',
    summary: 'List conversations with owners, titles and states, in pages: in a stable order, or newest first.',
    query: conversationsQuery,
    answer: conversationPageSchema,
    tenantless: 'conversations',
  },
  agents: {
    method: 'get',
    path: '/v1/agents',
    scope: 'read',
    command: { none: '`turnfold doctor` names agents that no worker has' },
    summary: 'List the agents that running workers have, by name.',
    answer: agentsSchema,
    member: 'agents',
  },
  usage: {
    method: 'get',
    path: '/v1/usage',
    scope: 'read',
    command: { none: 'the metrics of workers have it' },
    summary: 'Show what the model calls of the tenant used: tokens, cached ones among them, and their price.',
    answer: usageSchema,
  },
  describe: {
    method: 'get',
    path: CONVERSATION,
    scope: 'read',
    command: 'describe',
    errors: ['not_found'],
    summary: 'Show owner, title, agent, size, open calls and the compaction in progress, without messages.',
    answer: conversationSchema,
    onlyInBody: 'conversation',
  },
  updateConversation: {
    method: 'post',
    path: CONVERSATION,
    scope: 'enqueue',
    command: 'update',
    errors: ['not_found'],
    summary:
      'Change owner, title or metadata of a conversation. null removes a value. The owner needs the scope admin.',
    body: conversationChangeSchema,
    answer: detailsSchema,
    tenantless: 'body',
  },
  erase: {
    method: 'delete',
    path: CONVERSATION,
    scope: 'admin',
    command: 'erase',
    summary: 'Erase a conversation for good: log, versions, turns and summaries.',
    answer: erasedSchema,
  },
  fork: {
    method: 'post',
    path: `${CONVERSATION}/fork`,
    scope: 'admin',
    command: 'fork',
    errors: ['not_found', 'gone', 'conflict', 'version_gone', 'conversation_forking'],
    summary: 'Copy a conversation into a new one, whole or up to a version or message.',
    repeatedBy: 'operation',
    keyName: 'forkConversation',
    body: forkSchema.extend({ to: idSchema.describe('Id of the new conversation.') }),
    status: 201,
    answer: forkAnswer,
    tenantless: 'body',
  },
} satisfies Operations;
