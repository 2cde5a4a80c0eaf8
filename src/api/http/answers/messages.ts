import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { LEAVE_CAUSES } from '../../../domain/leaving.ts';
import { messageSchema, toolCallSchema } from '../../../domain/message.ts';
import { WIRE_FORMATS } from '../../../domain/raw-items.ts';

export const CONTEXT_FORMATS = ['turnfold', ...WIRE_FORMATS] as const;

const answeredMessage = messageSchema
  .extend({
    toolCalls: z.array(toolCallSchema).optional(),
    parts: z.array(z.unknown()).optional(),
    raw: z.unknown().optional(),
  })
  .meta({ id: 'Message' });

const itemSchema = z
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

export const messagePageSchema = z
  .looseObject({
    items: z.array(itemSchema),
    next: z.number().optional().describe('Send as `after` for the next page. Absent on the last page.'),
  })
  .meta({ id: 'MessagePage' });

const notesSchema = z
  .array(z.looseObject({ at: z.string(), kind: z.enum(['mapped', 'repaired', 'left_out']), what: z.string() }))
  .optional()
  .describe('Changes that made the messages a valid history.');

export const appendedSchema = z
  .looseObject({
    from: z.number(),
    to: z.number(),
    notes: notesSchema,
  })
  .meta({ id: 'Appended' });

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
        pins: z.array(z.string()),
        tools: z.array(
          z.looseObject({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
        ),
      })
      .optional()
      .describe('System prompt, pins and tools that the version was made with.'),
    items: z.array(itemSchema).optional().describe('With the format `turnfold`: the messages.'),
    body: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('With another format: a request body of that provider, without system prompt and tools.'),
    broken: z
      .array(
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

export const exportSchema = z
  .looseObject({ id: idSchema, messages: z.array(answeredMessage) })
  .meta({ id: 'ExportedConversation' });

export const importedSchema = z
  .looseObject({ conversation: idSchema, messages: z.number(), notes: notesSchema })
  .meta({ id: 'ImportedConversation' });
