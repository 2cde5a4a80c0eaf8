import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { unboundedList } from '../../contract/operation.ts';
import { CHAT_ENDS } from './chat-table.ts';

/*
 * Schemas of answers of Chat Completions, whole and as a stream, for the OpenAPI document. test/http/openai-schemas.test.ts
 * compares them with what a server sends.
 */

const reasoning = z.string().optional().describe('Reasoning that the provider showed.');

const callSchema = z
  .looseObject({
    id: z.string().describe('Name of the call for `tool_call_id`.'),
    type: z.literal('function'),
    function: z.looseObject({ name: z.string(), arguments: z.string().describe('JSON object as text.') }),
  })
  .meta({ id: 'ChatToolCall', description: 'A call that the caller answers.' });

const usageSchema = z
  .looseObject({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number(),
    prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }),
    completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().describe('0: not counted apart.') }),
  })
  .meta({ id: 'ChatUsage', description: 'Tokens of all model calls of the turn.' });

const head = {
  id: z.string().describe('`chatcmpl-`, the conversation, `~` and the turn.'),
  created: z.number().describe('Seconds since epoch.'),
  model: idSchema.describe('Name of the agent.'),
  system_fingerprint: z.null(),
};

const endSchema = z.enum(CHAT_ENDS);

export const completionSchema = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion'),
    choices: unboundedList(
      z.looseObject({
        index: z.literal(0),
        message: z
          .looseObject({
            role: z.literal('assistant'),
            content: z.string().nullable(),
            refusal: z.null(),
            reasoning_content: reasoning,
            tool_calls: unboundedList(callSchema).optional(),
          })
          .meta({ id: 'ChatCompletionMessage' }),
        logprobs: z.null(),
        finish_reason: endSchema,
      }),
    ).describe('One choice.'),
    usage: usageSchema,
  })
  .meta({ id: 'ChatCompletion' });

const chunkSchema = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion.chunk'),
    choices: unboundedList(
      z.looseObject({
        index: z.literal(0),
        delta: z
          .looseObject({
            role: z.literal('assistant').optional(),
            content: z.string().optional(),
            reasoning_content: reasoning,
            tool_calls: unboundedList(callSchema.extend({ index: z.number() })).optional(),
          })
          .meta({ id: 'ChatDelta' }),
        logprobs: z.null(),
        finish_reason: endSchema.nullable().describe('null before the last chunk of the choice.'),
      }),
    ).describe('One choice. Empty in the chunk with the usage.'),
    usage: usageSchema
      .nullable()
      .optional()
      .describe('Only with `stream_options.include_usage`: null, and the usage in the last chunk.'),
  })
  .meta({ id: 'ChatCompletionChunk' });

const errorSchema = z
  .looseObject({
    error: z.looseObject({
      type: z.string(),
      code: z.string().describe('Error code, as in docs/reference/errors.md.'),
      message: z.string(),
      param: z.null(),
    }),
  })
  .meta({ id: 'ChatStreamError', description: 'Ends a stream whose turn failed.' });

export const chatEventSchema = z.union([chunkSchema, errorSchema]).meta({
  id: 'ChatEvent',
  description: 'An event of a chat. The data `[DONE]` ends a stream, unless an error does.',
});
