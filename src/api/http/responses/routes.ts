import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { responseEventSchema, responseSchema } from './event-schema.ts';
import { RETRY_HEADER, retryHeaders } from './left-requests.ts';
import { createResponseSchema } from './request-schema.ts';

export const retrieveSchema = z.object({
  stream: z.stringbool().default(false),
  starting_after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Sequence number of the last event that the reader has.'),
});

export const repeatHeaders = z.object({
  ...retryHeaders,
  [IDEMPOTENCY_HEADER]: idSchema.max(100).optional().describe('Key by which a repeated request has no second effect.'),
});

const results = { 'application/json': responseSchema, [EVENT_STREAM]: responseEventSchema };

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
      headers: repeatHeaders,
      body: createResponseSchema,
      errors: [
        'not_found',
        'conflict',
        'agent_conflict',
        'turn_conflict',
        'conversation_busy',
        'mailbox_full',
        'message_too_large',
        'version_gone',
        'conversation_forking',
        'fork_abandoned',
      ],
      results,
    },
    {
      operation: nameOf('retrieveResponse'),
      method: 'get',
      path: response,
      scopes: ['read'],
      summary: 'Show a response, or stream it from its start or from an event.',
      query: retrieveSchema,
      errors: ['not_found'],
      results,
    },
    {
      operation: nameOf('cancelResponse'),
      method: 'post',
      path: `${response}/cancel`,
      scopes: ['read', 'enqueue'],
      summary: 'Cancel a response.',
      errors: ['not_found'],
      results: { 'application/json': responseSchema },
    },
  ];
}

/** How a client names a request that it repeats: by a key, or only as a repeated one. */
export interface Repeat {
  readonly key: string | undefined;
  readonly isRepeated: boolean;
}

export function readRepeat(header: (name: string) => string | undefined): Repeat {
  const given = { [IDEMPOTENCY_HEADER]: header(IDEMPOTENCY_HEADER), [RETRY_HEADER]: header(RETRY_HEADER) };
  const { [IDEMPOTENCY_HEADER]: key, [RETRY_HEADER]: retries = 0 } = parseInput(repeatHeaders, given);
  return { key, isRepeated: retries > 0 };
}
