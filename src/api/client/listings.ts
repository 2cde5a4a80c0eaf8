import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { type ConversationRef, idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { ANSWER_KINDS, type TurnUsage } from '../../domain/turn.ts';
import type { WaitingPosition } from '../../store/listings.ts';
import type { OpenTurns } from '../../store/open-turns.ts';
import {
  type ConversationPage,
  type ConversationsInput,
  conversationsSchema,
  type UsageInput,
  usageInputSchema,
} from '../contract/conversations.ts';
import { type ConversationName, readConversationName } from '../contract/names.ts';
import {
  type OpenTurnsInput,
  openTurnsSchema,
  type WaitingInput,
  type WaitingPage,
  waitingInputSchema,
} from '../contract/turns.ts';
import { noConversation } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';

/**
 * Lists one page of conversations. A call examines at most about 2,000 conversations, so a page may be short.
 * @throws invalid_input for an invalid filter or cursor
 */
export async function listConversations(ports: ClientPorts, input: ConversationsInput = {}): Promise<ConversationPage> {
  const { after, ...query } = parseInput(conversationsSchema, input);
  const position = after === undefined ? undefined : readConversationCursor(after);
  const { items, next } = await ports.listings.listConversations({ ...query, after: position });
  return { conversations: items, ...(next && { next: `${next.tenant}/${next.id}` }) };
}

/** @throws invalid_input for an invalid filter or cursor */
export async function listWaiting(ports: ClientPorts, input: WaitingInput = {}): Promise<WaitingPage> {
  const { after, ...query } = parseInput(waitingInputSchema, input);
  const position = after === undefined ? undefined : readWaitingCursor(after);
  const { items, next } = await ports.listings.listWaiting({ ...query, after: position });
  return { turns: items, ...(next && { next: writeWaitingCursor(next) }) };
}

/**
 * Reads what the model calls of a tenant used.
 * @throws invalid_input for an invalid tenant
 */
export async function readUsage(ports: ClientPorts, input: UsageInput = {}): Promise<TurnUsage> {
  return await ports.listings.readTenantUsage(parseInput(usageInputSchema, input).tenant);
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

/** @throws invalid_input for a text that no page returned as `next` */
function readCursor<Parts>(schema: z.ZodType<Parts>, after: string): Parts {
  const parts = schema.safeParse(after.split('/'));
  if (parts.success) return parts.data;
  throw fieldError('invalid_input', 'after', 'expected the value `next` that the previous page returned');
}

/** Inputs that are read at once, and the characters after which no more are read. */
const INPUT_BATCH = 20;
const INPUT_CHARS = 4_000_000;

/**
 * Reads the open turns of a conversation in one snapshot.
 * @throws invalid_input for an invalid limit. not_found if the conversation does not exist.
 */
export async function listOpenTurns(
  ports: ClientPorts,
  name: ConversationName,
  input: OpenTurnsInput = {},
): Promise<OpenTurns> {
  const conversation = readConversationName(name);
  const { limit, inputs: needsInputs = false } = parseInput(openTurnsSchema, input);
  const open = await ports.turns.listOpen(conversation, limit);
  if (open === undefined) throw noConversation(conversation);
  if (!needsInputs) return open;
  const inputs = await readInputs(ports, conversation, open);
  return {
    ...open,
    turns: open.turns.map((turn) => {
      const text = inputs.get(turn.turn);
      return text === undefined ? turn : { ...turn, input: text };
    }),
  };
}

async function readInputs(
  ports: ClientPorts,
  conversation: ConversationRef,
  { turns }: OpenTurns,
): Promise<ReadonlyMap<string, string>> {
  const unclaimed = turns.flatMap(({ turn, state }) => (state === 'queued' || state === 'scheduled' ? [turn] : []));
  const read = new Map<string, string>();
  let chars = 0;
  for (let at = 0; at < unclaimed.length && chars < INPUT_CHARS; at += INPUT_BATCH) {
    for (const [turn, text] of await ports.turns.readInputs(conversation, unclaimed.slice(at, at + INPUT_BATCH))) {
      read.set(turn, text);
      chars += text.length;
    }
  }
  return read;
}
