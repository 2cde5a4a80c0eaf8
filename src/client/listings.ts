import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
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
  /** only those of one tenant; absent: of all */
  tenant: idSchema.optional(),
  /** `next` of the page before; absent: the first page */
  after: z.string().optional(),
  /** so many at most */
  limit: z.number().int().min(1).max(1_000).default(100),
};

const conversationsSchema = z.strictObject({
  ...listFields,
  /** only conversations of this agent */
  agent: idSchema.optional(),
  /** only conversations in this state */
  state: z.enum(CONVERSATION_STATES).optional(),
});

const waitingSchema = z.strictObject({
  ...listFields,
  /** `tools`: only turns that wait for results from outside; `approval`: only those that wait for decisions */
  for: z.enum(ANSWER_KINDS).optional(),
});

export type ConversationsInput = z.input<typeof conversationsSchema>;
export type WaitingInput = z.input<typeof waitingSchema>;

/** A page of conversations. */
export interface ConversationPage {
  /** in an order that does not change: neither by new conversations nor by erased ones. It is not that of time */
  readonly conversations: readonly ListedConversation[];
  /** give it as `after` for the next page; absent at the end. A page may be short, or empty, and have a next one */
  readonly next?: string;
}

/** A page of turns that wait for answers. */
export interface WaitingPage {
  /** in an order that does not change. It is not that of time: each turn says since when it waits */
  readonly turns: readonly WaitingTurn[];
  /** give it as `after` for the next page; absent at the end. A page may be short, or empty, and have a next one */
  readonly next?: string;
}

/** Conversations of all tenants, or of one. Each call looks at 2,000 or so at most. @throws invalid_input */
export async function listConversations(ports: ClientPorts, input: ConversationsInput = {}): Promise<ConversationPage> {
  const { after, tenant, agent, state, limit } = parseInput(conversationsSchema, input);
  const { items, next } = await ports.listings.listConversations({
    limit,
    ...(tenant !== undefined && { tenant }),
    ...(agent !== undefined && { agent }),
    ...(state !== undefined && { state }),
    ...(after !== undefined && { after: readConversationCursor(after) }),
  });
  return { conversations: items, ...(next && { next: `${next.tenant}/${next.id}` }) };
}

/** Turns of all conversations that wait for results from outside or for decisions. @throws invalid_input */
export async function listWaiting(ports: ClientPorts, input: WaitingInput = {}): Promise<WaitingPage> {
  const { after, tenant, for: kind, limit } = parseInput(waitingSchema, input);
  const { items, next } = await ports.listings.listWaiting({
    limit,
    ...(tenant !== undefined && { tenant }),
    ...(kind !== undefined && { for: kind }),
    ...(after !== undefined && { after: readWaitingCursor(after) }),
  });
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
  throw new TurnfoldError('invalid_input', 'after: expected `next` of an earlier page', { field: 'after' });
}

const openTurnsSchema = z.strictObject({
  /** so many turns at most; how many there are is told in any case */
  limit: z.number().int().min(1).max(1_000).default(100),
});

export type OpenTurnsInput = z.input<typeof openTurnsSchema>;

/** Turns that are accepted and not settled, as they stand at one moment. @throws invalid_input, not_found */
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
