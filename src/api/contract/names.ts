import { z } from 'zod';
import { type ConversationRef, DEFAULT_TENANT, idSchema } from '../../domain/ids.ts';
import { isMapping, parseInput } from '../../domain/parse.ts';
import { limitOf } from './operation.ts';

export const conversationFields = {
  conversation: idSchema.describe('Id of the conversation.'),
  tenant: idSchema.default(DEFAULT_TENANT).describe('Tenant of the conversation.'),
};

export type ConversationName =
  | string
  | {
      readonly tenant?: string | undefined;
      readonly conversation: string;
    };

/** @param at name of the argument in error messages @throws invalid_input for an invalid tenant or id */
export function readConversationName(name: ConversationName, at = 'conversation'): ConversationRef {
  if (!isMapping(name)) return { id: parseInput(idSchema, name, at), tenant: DEFAULT_TENANT };
  const { tenant, conversation: id } = parseInput(nameSchema, name, at);
  return { id: parseInput(idSchema, id, at), tenant: parseInput(conversationFields.tenant, tenant, 'tenant') };
}

/** `readConversationName` checks the values, so that errors have the caller's names of the fields. */
const nameSchema = z.object({ tenant: z.unknown(), conversation: z.unknown() });

export function readTurnId(turn: string): string {
  return parseInput(idSchema, turn, 'turn');
}

export const versionNumberSchema = z.number().int().min(0);

export const contextPointSchema = z.strictObject({
  /** Number of a kept version. 0 is the whole log. */
  version: versionNumberSchema.optional(),
  /** Position (seq) of the last log entry. */
  head: z.number().int().min(0).optional(),
});

/** A kept version, followed by the log up to a given message. */
export type ContextPoint = z.input<typeof contextPointSchema>;

export const pageFields = {
  /** `next` of the previous page. Absent: the first page. */
  after: z.string().max(1_000).optional().describe('`next` of the previous page. Absent: the first page.'),
  /** Maximum number of items (100, at most 1,000). */
  limit: limitOf(1_000),
};

export const nextSchema = z.string().optional().describe('Cursor of the next page, to send as `after`.');

export const waitSchema = z.number().min(0);

export const followSchema = z.object({
  waitMs: waitSchema.optional(),
  signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
});

export const cancelOptionsSchema = z.strictObject({
  /**
   * Id of the turn that takes the place of the canceled one. The call then fails with `conflict` if a worker has begun
   * the turn, or if anything else has ended it. A repeated call changes nothing.
   */
  replacedBy: idSchema
    .optional()
    .describe('Turn that takes its place. The answer is then `conflict` unless the turn has not begun.'),
});

export type CancelOptions = z.input<typeof cancelOptionsSchema>;
