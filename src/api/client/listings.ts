import { z } from 'zod';
import { CONVERSATION_STATES } from '../../domain/conversation.ts';
import { fieldError } from '../../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT, idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { ANSWER_KINDS, type TurnUsage } from '../../domain/turn.ts';
import { type ListedConversation, type WaitingPosition, type WaitingTurn } from '../../store/listings.ts';
import type { OpenTurns } from '../../store/open-turns.ts';
import { noConversation } from './client-errors.ts';
import { type ConversationName, readConversationName } from './input.ts';
import type { ClientPorts } from './ports.ts';

const listFields = {
  /** Only conversations of this tenant. Absent: all tenants. */
  tenant: idSchema.optional(),
  /** `next` of the previous page. Absent: the first page. */
  after: z.string().optional(),
  /** Maximum number of items on a page (100, at most 1,000). */
  limit: z.number().int().min(1).max(1_000).default(100),
};

const conversationsSchema = z.strictObject({
  ...listFields,
  /** Only conversations of this agent. Absent: all agents. */
  agent: idSchema.optional(),
  /** Only conversations whose id contains this text. Absent: all ids. */
  idContains: z.string().min(1).max(128).optional(),
  /** Only conversations in this state. Absent: all states. */
  state: z.enum(CONVERSATION_STATES).optional(),
});

const waitingSchema = z.strictObject({
  ...listFields,
  /**
   * Which turns to list. `tools`: those that wait for external results. `approval`: those that wait for decisions.
   * Absent: both.
   */
  for: z.enum(ANSWER_KINDS).optional(),
});

export type ConversationsInput = z.input<typeof conversationsSchema>;
export type WaitingInput = z.input<typeof waitingSchema>;

export interface ConversationPage {
  /**
   * Conversations in a stable order that is not chronological. Creating or erasing conversations does not change the
   * order of the others.
   */
  readonly conversations: readonly ListedConversation[];
  /** Cursor for the next page, to pass as `after`. Absent on the last page. Other pages may be short or empty. */
  readonly next?: string;
}

export interface WaitingPage {
  /** Turns in a stable order that is not chronological. `since` of each turn is the start of its wait. */
  readonly turns: readonly WaitingTurn[];
  /** Cursor for the next page, to pass as `after`. Absent on the last page. Other pages may be short or empty. */
  readonly next?: string;
}

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
  const { after, ...query } = parseInput(waitingSchema, input);
  const position = after === undefined ? undefined : readWaitingCursor(after);
  const { items, next } = await ports.listings.listWaiting({ ...query, after: position });
  return { turns: items, ...(next && { next: writeWaitingCursor(next) }) };
}

const usageSchema = z.strictObject({
  /** Tenant whose usage is read. Default: the default tenant. */
  tenant: idSchema.default(DEFAULT_TENANT),
});

export type UsageInput = z.input<typeof usageSchema>;

/**
 * Reads what the model calls of a tenant used.
 * @throws invalid_input for an invalid tenant
 */
export async function readUsage(ports: ClientPorts, input: UsageInput = {}): Promise<TurnUsage> {
  return await ports.listings.readTenantUsage(parseInput(usageSchema, input).tenant);
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

const openTurnsSchema = z.strictObject({
  /** Maximum number of turns to return (100, at most 1,000). The total count is always returned. */
  limit: z.number().int().min(1).max(1_000).default(100),
  /**
   * true: turns that no worker has claimed have the text of their user message (false). Once the texts have 4 million
   * characters, later turns have none.
   */
  inputs: z.boolean().default(false),
});

/** Inputs that are read at once, and the characters after which no more are read. */
const INPUT_BATCH = 20;
const INPUT_CHARS = 4_000_000;

export type OpenTurnsInput = z.input<typeof openTurnsSchema>;

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
  const { limit, inputs: needsInputs } = parseInput(openTurnsSchema, input);
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
