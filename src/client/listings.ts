import { z } from 'zod';
import { fieldError } from '../domain/errors.ts';
import { type ConversationRef, idSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import {
  CONVERSATION_STATES,
  type ListedConversation,
  type WaitingPosition,
  type WaitingTurn,
} from '../domain/ports/listing-store.ts';
import type { OpenTurns } from '../domain/ports/turn-store.ts';
import { ANSWER_KINDS } from '../domain/turn.ts';
import { noConversation } from './client-errors.ts';
import { type ConversationName, readConversationName } from './input.ts';
import type { ClientPorts } from './ports.ts';

const listFields = {
  /** Tenant to list (all). */
  tenant: idSchema.optional(),
  /** `next` of the previous page. Absent: the first page. */
  after: z.string().optional(),
  /** Most items of a page (100, at most 1,000). */
  limit: z.number().int().min(1).max(1_000).default(100),
};

const conversationsSchema = z.strictObject({
  ...listFields,
  /** Agent of the conversations (all). */
  agent: idSchema.optional(),
  /** State of the conversations (all). */
  state: z.enum(CONVERSATION_STATES).optional(),
});

const waitingSchema = z.strictObject({
  ...listFields,
  /** `tools`: turns that wait for external results. `approval`: turns that wait for decisions. Absent: both. */
  for: z.enum(ANSWER_KINDS).optional(),
});

export type ConversationsInput = z.input<typeof conversationsSchema>;
export type WaitingInput = z.input<typeof waitingSchema>;

/** A page of conversations. */
export interface ConversationPage {
  /**
   * Conversations in a stable order, which new and erased conversations do not change. The order is not
   * chronological.
   */
  readonly conversations: readonly ListedConversation[];
  /** Pass as `after` for the next page. Absent on the last page. A page with `next` may be short or empty. */
  readonly next?: string;
}

/** A page of turns that wait for answers. */
export interface WaitingPage {
  /** Turns in a stable order, not chronological. Each turn has the start of its wait. */
  readonly turns: readonly WaitingTurn[];
  /** Pass as `after` for the next page. Absent on the last page. A page with `next` may be short or empty. */
  readonly next?: string;
}

/** Each call examines about 2,000 conversations at most. @throws invalid_input */
export async function listConversations(ports: ClientPorts, input: ConversationsInput = {}): Promise<ConversationPage> {
  const { after, ...query } = parseInput(conversationsSchema, input);
  const position = after === undefined ? undefined : readConversationCursor(after);
  const { items, next } = await ports.listings.listConversations({ ...query, after: position });
  return { conversations: items, ...(next && { next: `${next.tenant}/${next.id}` }) };
}

/** @throws invalid_input */
export async function listWaiting(ports: ClientPorts, input: WaitingInput = {}): Promise<WaitingPage> {
  const { after, ...query } = parseInput(waitingSchema, input);
  const position = after === undefined ? undefined : readWaitingCursor(after);
  const { items, next } = await ports.listings.listWaiting({ ...query, after: position });
  return { turns: items, ...(next && { next: writeWaitingCursor(next) }) };
}

function writeWaitingCursor({ conversation: { tenant, id }, for: kind, turn }: WaitingPosition): string {
  return [tenant, kind, id, turn].join('/');
}

const conversationCursor = z.tuple([idSchema, idSchema]);
const waitingCursor = z.tuple([idSchema, z.enum(ANSWER_KINDS), idSchema, idSchema]);

function readConversationCursor(after: string): ConversationRef {
  const [tenant, id] = readCursor(conversationCursor, after);
  return { tenant, id };
}

function readWaitingCursor(after: string): WaitingPosition {
  const [tenant, kind, id, turn] = readCursor(waitingCursor, after);
  return { conversation: { tenant, id }, for: kind, turn };
}

/** @throws invalid_input */
function readCursor<Parts>(schema: z.ZodType<Parts>, after: string): Parts {
  const parts = schema.safeParse(after.split('/'));
  if (parts.success) return parts.data;
  throw fieldError('invalid_input', 'after', 'expected `next` of an earlier page');
}

const openTurnsSchema = z.strictObject({
  /** Most turns to return (100, at most 1,000). The total count is always returned. */
  limit: z.number().int().min(1).max(1_000).default(100),
});

export type OpenTurnsInput = z.input<typeof openTurnsSchema>;

/** Reads the turns in one snapshot. @throws invalid_input, not_found */
export async function listOpenTurns(
  ports: ClientPorts,
  name: ConversationName,
  input: OpenTurnsInput = {},
): Promise<OpenTurns> {
  const conversation = readConversationName(name);
  const { limit } = parseInput(openTurnsSchema, input);
  const open = await ports.turns.listOpen(conversation, limit);
  if (open === undefined) throw noConversation(conversation);
  return open;
}
