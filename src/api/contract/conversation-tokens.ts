import { z } from 'zod';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { ownerSchema } from '../../domain/conversation-about.ts';
import { TOKEN_LIMITS, TOKEN_SCOPES } from '../../domain/conversation-token.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import type { ConversationName } from './names.ts';
import { CONVERSATION, type Operations, timeSchema, unboundedList } from './operation.ts';

export interface TokenMethods {
  /** Creates a token for one conversation, for a browser. The conversation need not exist yet. */
  createConversationToken(conversation: ConversationName, input?: ConversationTokenInput): Promise<ConversationToken>;
}

type TokenScope = (typeof TOKEN_SCOPES)[number];

export interface ConversationTokenInput {
  /** Rights of the bearer in the conversation: `read`, `enqueue`, `answer` (all three). */
  readonly scopes?: readonly TokenScope[] | undefined;
  /** Time until the token expires, in ms (an hour, at most a day). Open streams end within 5 s after it. */
  readonly expiresInMs?: number | undefined;
  /** Owner that the conversation gets if the bearer creates it. A conversation of another owner is refused (none). */
  readonly owner?: string | undefined;
}

export interface ConversationToken extends NamedConversation {
  /** Bearer token, which begins with `tfc_`. turnfold does not store it. */
  readonly token: string;
  /** Rights of the bearer. */
  readonly scopes: readonly TokenScope[];
  /** ms since epoch, by the clock of Redis. */
  readonly expiresAt: number;
}

export const tokenInputSchema = z.strictObject({
  scopes: boundedList(z.enum(TOKEN_SCOPES, `must be one of ${TOKEN_SCOPES.join(', ')}`), TOKEN_SCOPES.length)
    .min(1)
    .default([...TOKEN_SCOPES])
    .transform((scopes) => TOKEN_SCOPES.filter((scope) => scopes.includes(scope)))
    .describe('Rights of the bearer. The caller needs them, too.'),
  expiresInMs: z
    .number()
    .int()
    .min(1)
    .max(TOKEN_LIMITS.maxExpiresInMs)
    .default(TOKEN_LIMITS.expiresInMs)
    .describe('Time until the token expires, in ms.'),
  owner: ownerSchema.optional().describe('Owner that the conversation gets if the bearer creates it.'),
});

const tokenSchema = z
  .looseObject({
    conversation: idSchema,
    token: z.string().describe('Bearer token. turnfold does not store it.'),
    scopes: unboundedList(z.enum(TOKEN_SCOPES)),
    expiresAt: timeSchema,
  })
  .meta({ id: 'ConversationToken' });

export const tokenOperations = {
  createConversationToken: {
    method: 'post',
    path: `${CONVERSATION}/tokens`,
    scope: 'enqueue',
    command: 'token',
    summary: 'Create a token that reaches one conversation, for a browser. It has at most the scopes of the caller.',
    body: tokenInputSchema.default({ scopes: [...TOKEN_SCOPES], expiresInMs: TOKEN_LIMITS.expiresInMs }),
    status: 201,
    answer: tokenSchema,
    tenantless: 'body',
  },
} satisfies Operations;
