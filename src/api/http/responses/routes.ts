import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { createResponseSchema } from './request-schema.ts';
import { RESPONSE_STATES } from './response-object.ts';

export const retrieveSchema = z.object({
  stream: z.stringbool().default(false),
  starting_after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Sequence number of the last event that the reader has.'),
});

const headers = z.object({
  [IDEMPOTENCY_HEADER]: idSchema.max(100).optional().describe('Key by which a repeated request finds its response.'),
});

const responseSchema = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.number(),
    status: z.enum(RESPONSE_STATES),
    model: idSchema,
    conversation: z.looseObject({ id: idSchema }),
    previous_response_id: z.string().nullable(),
    output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
    error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).nullable(),
  })
  .meta({ id: 'Response', description: 'A response in the form of Open Responses.' });

const eventSchema = z
  .looseObject({ type: z.string(), sequence_number: z.number() })
  .meta({ id: 'ResponseEvent', description: 'An event of Open Responses.' });

const results = { 'application/json': responseSchema, [EVENT_STREAM]: eventSchema };

export const responsesRoutes: readonly ProtocolRoute[] = responseRoutes('/v1', '');

/**
 * @param base path before `/responses`
 * @param prefix first part of the names of the operations, because each name is unique
 */
export function responseRoutes(base: `/${string}`, prefix: string): ProtocolRoute[] {
  const nameOf = (name: string): string =>
    prefix === '' ? name : prefix + name.charAt(0).toUpperCase() + name.slice(1);
  const response = `${base}/responses/{response}` as const;
  return [
    {
      operation: nameOf('createResponse'),
      method: 'post',
      path: `${base}/responses`,
      scopes: ['read', 'enqueue', 'answer'],
      summary: 'Create a response by Open Responses, or answer calls of one.',
      headers,
      body: createResponseSchema,
      results,
    },
    {
      operation: nameOf('retrieveResponse'),
      method: 'get',
      path: response,
      scopes: ['read'],
      summary: 'Show a response, or stream it from its start or from an event.',
      query: retrieveSchema,
      results,
    },
    {
      operation: nameOf('cancelResponse'),
      method: 'post',
      path: `${response}/cancel`,
      scopes: ['read', 'enqueue'],
      summary: 'Cancel a response.',
      results: { 'application/json': responseSchema },
    },
  ];
}

export function readKeyHeader(key: string | undefined): string | undefined {
  return parseInput(headers, { [IDEMPOTENCY_HEADER]: key })[IDEMPOTENCY_HEADER];
}
