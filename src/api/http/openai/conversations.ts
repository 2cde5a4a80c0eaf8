import type { Hono } from 'hono';
import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema, seqOfCallId } from '../../../domain/ids.ts';
import type { LogEntry } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import { metadataSchema } from '../../../domain/turn.ts';
import { type Backend, type BackendOptions, openBackend } from '../front-end/backend.ts';
import { readIfAny, readLogTail } from '../front-end/reads.ts';
import { readBody } from '../front-end/server-facts.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { type PlacedItem, placeItems, readMessages } from '../responses/create-request.ts';
import { requestItemSchema } from '../responses/request-schema.ts';
import { readCallId } from '../responses/response-names.ts';
import { type Repeat, readRepeat } from '../responses/routes.ts';
import { type ComparedMessage, compareEntries, compareItems } from './chat-history.ts';
import {
  type ItemList,
  listConversationItems,
  pageSchema,
  readConversationItem,
  writeList,
} from './conversation-items.ts';
import { renameFields } from './errors.ts';
import { createConversationId, timeOfConversationId, writeLogItems } from './log-items.ts';
import { refuse } from './parameters.ts';

/** As many as OpenAI takes in one request. */
const MAX_NEW_ITEMS = 20;

const itemsSchema = boundedList(requestItemSchema, MAX_NEW_ITEMS);

export const createConversationSchema = z
  .looseObject({ items: itemsSchema.nullish(), metadata: metadataSchema.nullish() })
  .meta({ id: 'CreateConversation', examples: [{ items: [{ type: 'message', role: 'user', content: 'Hello' }] }] });

export const createItemsSchema = z.looseObject({ items: itemsSchema.min(1) }).meta({ id: 'CreateConversationItems' });

export const conversationObjectSchema = z
  .looseObject({ id: idSchema, object: z.string(), created_at: z.number(), metadata: metadataSchema })
  .meta({ id: 'ConversationObject' });

function writeConversation(id: string, createdAtMs: number, metadata: Readonly<Record<string, string>> = {}): object {
  return { id, object: 'conversation', created_at: Math.floor(createdAtMs / 1_000), metadata };
}

/** Adds the routes of OpenAI's conversations. */
export function addConversations(app: Hono, options: BackendOptions, base: string): void {
  const one = `${base}/conversations/:conversation` as const;
  app.post(`${base}/conversations`, async (context) => {
    const backend = await openBackend(options, context);
    const { items, metadata } = parseInput(createConversationSchema, await readBody(context));
    const now = Date.now();
    const id = createConversationId(now);
    const isStored = items !== undefined && items !== null && items.length > 0;
    if (!isStored) refuseMetadata(metadata);
    else await addItems(backend, id, items);
    if (metadata && isStored) await backend.client.updateConversation(backend.nameOf(id), { metadata });
    return context.json(writeConversation(id, now, metadata ?? {}));
  });
  app.get(one, async (context) => {
    const backend = await openBackend(options, context);
    return context.json(await readConversation(backend, readId(context.req.param('conversation'))));
  });
  app.post(one, async (context) => {
    const backend = await openBackend(options, context);
    const { metadata } = parseInput(createConversationSchema.pick({ metadata: true }), await readBody(context));
    const id = readId(context.req.param('conversation'));
    const known = await readIfAny(backend.client.describe(backend.nameOf(id)));
    if (known === undefined) refuseMetadata(metadata);
    else await backend.client.updateConversation(backend.nameOf(id), { metadata: metadata ?? null });
    return context.json(await readConversation(backend, id));
  });
  app.delete(one, async (context) => {
    const backend = await openBackend(options, context);
    const id = readId(context.req.param('conversation'));
    await readConversation(backend, id);
    await backend.client.erase(backend.nameOf(id));
    return context.json({ id, object: 'conversation.deleted', deleted: true });
  });
  app.get(`${one}/items`, async (context) => {
    const backend = await openBackend(options, context);
    const id = readId(context.req.param('conversation'));
    return context.json(await listItems(backend, id, context.req.query()));
  });
  app.post(`${one}/items`, async (context) => {
    const backend = await openBackend(options, context);
    const id = readId(context.req.param('conversation'));
    const { items } = parseInput(createItemsSchema, await readBody(context));
    const repeat = readRepeat((name) => context.req.header(name));
    return context.json(await addItems(backend, id, items, repeat));
  });
  app.get(`${one}/items/:item`, async (context) => {
    const backend = await openBackend(options, context);
    const id = readId(context.req.param('conversation'));
    return context.json(await readConversationItem(backend, id, context.req.param('item')));
  });
  app.delete(`${one}/items/:item`, async () => {
    const why =
      'the log of a conversation keeps its items. Erase the conversation, or restore an earlier version of it';
    throw fieldError('conflict', 'item_id', why, { details: { reason: 'unsupported_operation' } });
  });
}

function readId(given: string): string {
  const read = idSchema.safeParse(given);
  if (read.success) return read.data;
  throw fieldError('not_found', 'conversation_id', 'no conversation has this id');
}

/** Nothing is stored of a conversation before it has items. */
function refuseMetadata(metadata: Readonly<Record<string, string>> | null | undefined): void {
  if (metadata === undefined || metadata === null || Object.keys(metadata).length === 0) return;
  throw refuse(
    'metadata',
    'unsupported_parameter',
    'a conversation without items is not stored. Send the metadata with items, or later',
  );
}

/** A conversation without items is not stored, so its id is all that the server knows. */
async function readConversation({ client, nameOf }: Backend, id: string): Promise<object> {
  const known = await readIfAny(client.describe(nameOf(id)));
  const createdAt = timeOfConversationId(id);
  if (known === undefined && createdAt === undefined) {
    throw fieldError('not_found', 'conversation_id', 'no conversation has this id');
  }
  return writeConversation(id, createdAt ?? known?.createdAt ?? 0, known?.metadata);
}

async function listItems(backend: Backend, id: string, query: Record<string, string>): Promise<ItemList> {
  const listed = await listConversationItems(backend, id, parseInput(pageSchema, query));
  if (listed !== undefined) return listed;
  await readConversation(backend, id);
  return writeList([]);
}

async function addItems(
  backend: Backend,
  conversation: string,
  items: z.output<typeof itemsSchema>,
  { key, isRepeated }: Repeat = { key: undefined, isRepeated: false },
): Promise<ItemList> {
  const { client, tenant, agent: usual, nameOf } = backend;
  const known = await readIfAny(client.describe(nameOf(conversation)));
  const placed = placeItems(items, 'items');
  const messages = readMessages(placed);
  if (messages.length === 0) return writeList([]);
  const list = (log: readonly LogEntry[]) => writeList(log.flatMap((entry) => writeLogItems(conversation, entry)));
  const last = isRepeated && key === undefined ? await findLast(backend, conversation, placed) : undefined;
  if (last !== undefined) return list(last);
  const agent = known?.agent ?? usual;
  const operation = key === undefined ? undefined : `items.${key}`;
  const append = () => client.append({ conversation, tenant, agent, messages, operation });
  const { from, to } = await renameFields(FIELDS, append);
  return list(await client.log(nameOf(conversation), { after: from - 1, limit: to - from + 1 }));
}

/** Fields of `append` that have another name in the request. */
const FIELDS = [
  [/^operation$/, IDEMPOTENCY_HEADER],
  [/^messages/, 'items'],
  [/^agent$/, 'conversation_id'],
] as const;

/** Finds the items of a request that a client repeats without a key, if the log ends with the same items. */
async function findLast(
  backend: Backend,
  conversation: string,
  items: readonly PlacedItem[],
): Promise<readonly LogEntry[] | undefined> {
  const wanted = compareItems(items);
  const tail = await readLogTail(backend, conversation, 2 * items.length);
  const names = await readCallNames(backend, conversation, tail);
  for (let start = tail.length - 1; start >= 0; start -= 1) {
    const entries = tail.slice(start);
    if (entries[0]?.turn !== undefined) return undefined;
    if (isSameList(wanted, compareEntries(entries), names)) return entries;
  }
  return undefined;
}

/** Reads the ids that clients gave to the calls of results, by the ids that the log gave to them. */
async function readCallNames(
  { client, nameOf }: Backend,
  conversation: string,
  log: readonly LogEntry[],
): Promise<ReadonlyMap<string, string>> {
  const places = new Set(log.flatMap(({ message: { toolCallId: id } }) => (id === undefined ? [] : [seqOfCallId(id)])));
  const read = [...places].map((seq) => client.log(nameOf(conversation), { after: seq - 1, limit: 1 }));
  const calls = (await Promise.all(read)).flat().flatMap(({ message }) => message.toolCalls ?? []);
  return new Map(calls.map(({ id, providerId = id }) => [id, readCallId(providerId).id]));
}

/** Compares calls by their order, because the log gives its own ids to them. */
function isSameList(
  wanted: readonly ComparedMessage[],
  found: readonly ComparedMessage[],
  names: ReadonlyMap<string, string>,
): boolean {
  const wantedCalls = placeCalls(wanted);
  const foundCalls = placeCalls(found);
  return (
    wanted.length === found.length &&
    wanted.every(({ kind, text, mark }, at) => {
      const other = found[at];
      if (other === undefined || kind !== other.kind || text !== other.text) return false;
      if (kind === 'call') return true;
      if (kind !== 'result') return mark === other.mark;
      const call = wantedCalls[at];
      if (call !== foundCalls[at]) return false;
      return call !== undefined || mark === other.mark || mark === names.get(other.mark);
    })
  );
}

/** Returns the place in the list of the call that each result answers. Undefined: the list does not have the call. */
function placeCalls(messages: readonly ComparedMessage[]): (number | undefined)[] {
  const open = new Map<string, number[]>();
  return messages.map(({ kind, mark }, at) => {
    const calls = open.get(mark) ?? [];
    if (kind === 'result') return calls.shift();
    if (kind === 'call') open.set(mark, [...calls, at]);
    return undefined;
  });
}
