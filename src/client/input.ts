import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT, idSchema } from '../domain/ids.ts';
import { MAX_MESSAGE_BYTES, type Message, messageSchema, type WeighedMessage } from '../domain/message.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import { bytesOfMessage, countMessage } from '../tokens/message-tokens.ts';

const conversationFields = { conversation: idSchema, tenant: idSchema.default(DEFAULT_TENANT) };

export const enqueueSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  /** the user message */
  input: z.string().min(1),
  /** the caller's id makes the call repeatable: the same again answers the present state */
  turn: idSchema.optional(),
  /** ms until the turn becomes due */
  delayMs: z.number().int().min(0).optional(),
  /** orders conversations, never the turns of one; 1 is first */
  priority: z.number().int().min(1).max(2_097_151).optional(),
  maxQueuedTurns: z.number().int().min(1).optional(),
});

export const appendSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  messages: z.array(messageSchema).min(1).max(5_000),
  /** the same operation again changes nothing */
  operation: idSchema.optional(),
  /** refuse unless the log ends here */
  expectedHead: z.number().int().min(0).optional(),
});

export type EnqueueInput = z.input<typeof enqueueSchema>;
export type AppendInput = z.input<typeof appendSchema>;

/** A conversation by its id, or with its tenant. */
export type ConversationName = string | { readonly tenant: string; readonly id: string };

const conversationSchema = z.union([
  idSchema.transform((id): ConversationRef => ({ tenant: DEFAULT_TENANT, id })),
  z.strictObject({ tenant: idSchema, id: idSchema }),
]);

/** @throws invalid_input */
export function readConversationName(name: ConversationName): ConversationRef {
  const result = conversationSchema.safeParse(name);
  if (result.success) return result.data;
  throw new TurnfoldError('invalid_input', 'conversation: must match [A-Za-z0-9_.-]{1,128}', { field: 'conversation' });
}

/** Counts a message once, at the border. @throws message_too_large, with the field */
export async function weighMessage(counter: TokenCounter, message: Message, field: string): Promise<WeighedMessage> {
  const bytes = bytesOfMessage(message);
  const stored = Buffer.byteLength(JSON.stringify(message));
  if (stored > MAX_MESSAGE_BYTES) {
    throw new TurnfoldError('message_too_large', `${field}: ${stored} bytes, at most ${MAX_MESSAGE_BYTES}`, {
      field,
      details: { bytes: stored },
    });
  }
  return { message, bytes, tokens: await countMessage(counter, message) };
}
