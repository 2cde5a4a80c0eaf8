import { z } from 'zod';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { ToolDescription } from '../../domain/model.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { itemSchema } from './messages.ts';
import { type ContextPoint, type ConversationName, contextPointSchema } from './names.ts';
import { CONVERSATION, type Operations, unboundedList, unboundedRecord } from './operation.ts';

export interface ContextMethods {
  /** Returns the live context, or that of a kept version followed by the log up to `head`. */
  context(conversation: ConversationName, at?: ContextPoint): Promise<ContextView>;
  /** Returns the context of a kept version as it was when the version was made. */
  show(conversation: ConversationName, version: number): Promise<ContextView>;
}

export interface AgentSnapshot {
  readonly system: string;
  /** Pinned texts of the policy, which follow the system prompt. */
  readonly pins: readonly string[];
  readonly tools: readonly ToolDescription[];
}

export interface ContextView extends NamedConversation {
  /** Number of the context's version. 0 is the whole log, before any compaction. */
  readonly version: number;
  /** Position (seq) of the last log entry in this context. */
  readonly head: number;
  /** Tokens of all messages, each with its role and delimiters, without system prompt, pins and tools. */
  readonly tokens: number;
  /** Absent before the first version, because only workers know the agent until then. */
  readonly agentSnapshot?: AgentSnapshot;
  /** Messages in order. */
  readonly items: readonly {
    /** Position (seq) of the first log entry that the message stands for. A summary stands for several entries. */
    readonly from: number;
    readonly to: number;
    readonly tokens: number;
    readonly message: Message;
  }[];
}

const CONTEXT_FORMATS = ['turnfold', ...WIRE_FORMATS] as const;

export const contextSchema = z
  .looseObject({
    conversation: idSchema,
    format: z.enum(CONTEXT_FORMATS),
    version: z.number().describe('Number of the version. 0 is the whole log.'),
    head: z.number().describe('Position (seq) of the last log entry in the context.'),
    tokens: z.number().describe('Tokens of the messages, without system prompt, pins and tools.'),
    agentSnapshot: z
      .looseObject({
        system: z.string(),
        pins: unboundedList(z.string()),
        tools: unboundedList(
          z.looseObject({ name: z.string(), description: z.string(), parameters: unboundedRecord(z.unknown()) }),
        ),
      })
      .optional()
      .describe('System prompt, pins and tools that the version was made with.'),
    items: unboundedList(itemSchema).optional().describe('With the format `turnfold`: the messages.'),
    body: unboundedRecord(z.unknown())
      .optional()
      .describe('With another format: a request body of that provider, without system prompt and tools.'),
    broken: unboundedList(
      z.looseObject({
        rule: z.string().describe('Code of a rule, as in docs/reference/wire.md.'),
        why: z.string().describe('Place in the body, and what is wrong there.'),
      }),
    )
      .optional()
      .describe('With another format: rules of the format that the body breaks.'),
  })
  .meta({ id: 'Context' });

export type ContextAnswer = z.infer<typeof contextSchema>;

const { version, head } = contextPointSchema.shape;

export const contextOperations = {
  context: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/context`,
    scope: 'read',
    command: 'show',
    errors: ['not_found', 'version_gone'],
    summary: 'Show the context that the agent sees, in the format of turnfold or of a provider.',
    query: z.strictObject({
      format: z.enum(CONTEXT_FORMATS).default('turnfold'),
      version: version.describe('Number of a kept version. Absent: the live one.'),
      head: head.describe('Position (seq) of the last log entry.'),
      model: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .describe("Provider's name of the model. Thinking is sent only to the model that wrote it."),
      maxOutputTokens: z.number().int().min(1).max(1_000_000).default(8_192),
    }),
    answer: contextSchema,
    onlyInBody: 'format',
    tenantless: 'body',
  },
  show: {
    holdsContext: true,
    method: 'get',
    path: `${CONVERSATION}/versions/{version}`,
    scope: 'read',
    command: 'show',
    errors: ['not_found', 'version_gone'],
    summary: 'Show the context of a kept version as it was when the version was made.',
    answer: contextSchema,
    onlyInBody: 'format',
    tenantless: 'body',
  },
} satisfies Operations;
