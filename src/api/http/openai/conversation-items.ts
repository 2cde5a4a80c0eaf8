import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import type { LogEntry } from '../../../domain/message.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readTurn } from '../front-end/reads.ts';
import { readItem, readTurnItems } from '../responses/item-references.ts';
import { readItemId } from '../responses/response-names.ts';
import type { OutputItem } from '../responses/response-object.ts';
import { NO_TURN, writeLogItems } from './log-items.ts';

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

export const pageSchema = z.object({
  after: z.string().max(1_000).optional().describe('Id of the item behind which the page starts.'),
  limit: z.coerce.number().int().min(1).max(MAX_ITEMS).default(DEFAULT_ITEMS),
  order: z.enum(['asc', 'desc']).default('desc'),
  include: z.unknown().optional(),
});

export type ItemPage = z.output<typeof pageSchema>;

export interface ItemList {
  readonly object: 'list';
  readonly data: readonly object[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

export function writeList(data: readonly OutputItem[], hasMore = false): ItemList {
  return {
    object: 'list',
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** Cuts a page out of all items in their order. */
export function pageItems(items: readonly OutputItem[], { after, limit, order }: ItemPage): ItemList {
  const ordered = order === 'asc' ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw unknownItem('after');
  return writeList(ordered.slice(start, start + limit), ordered.length > start + limit);
}

function unknownItem(field: string): Error {
  return fieldError('not_found', field, 'the conversation has no item with this id');
}

const BATCH = 200;

/** Lists items in pages. A turn has the items of its response, with the same ids. */
export async function listConversationItems(
  backend: Backend,
  conversation: string,
  page: ItemPage,
): Promise<ItemList | undefined> {
  const { client, nameOf } = backend;
  const name = nameOf(conversation);
  const known = await readIfAny(client.describe(name));
  if (known === undefined) return undefined;
  const versions = await client.versions(name);
  const start = page.after === undefined ? undefined : await findSeq(backend, conversation, page.after);
  if (start !== undefined && start > known.head) throw unknownItem('after');
  const items: OutputItem[] = [];
  const done = new Set<string>();
  let next = start ?? (page.order === 'asc' ? 1 : known.head);
  for (;;) {
    const from = page.order === 'asc' ? next : Math.max(1, next - BATCH + 1);
    const to = page.order === 'asc' ? Math.min(known.head, next + BATCH - 1) : next;
    if (to < from) break;
    const log = await client.log(name, { after: from - 1, limit: to - from + 1 });
    const shown = omitRolledBack(log, versions);
    for (const entry of page.order === 'asc' ? shown : shown.toReversed()) {
      const read = await readEntryItems(backend, conversation, entry, done);
      items.push(...(page.order === 'asc' ? read : read.toReversed()));
      const at = page.after === undefined ? 0 : items.findIndex(({ id }) => id === page.after) + 1;
      if (items.length - at > page.limit && (at > 0 || page.after === undefined)) return cutPage(items, page);
    }
    next = page.order === 'asc' ? to + 1 : from - 1;
  }
  return cutPage(items, page);
}

/** @param items in the order of the page */
function cutPage(items: readonly OutputItem[], page: ItemPage): ItemList {
  return pageItems(items, { ...page, order: 'asc' });
}

async function readEntryItems(
  backend: Backend,
  conversation: string,
  entry: LogEntry,
  done: Set<string>,
): Promise<readonly OutputItem[]> {
  const { turn, message } = entry;
  if (turn === undefined || message.role === 'user') return writeLogItems(conversation, entry);
  if (done.has(turn)) return [];
  const output = await readTurnItems(backend, { conversation, turn });
  // A turn is kept for some days. Its messages are kept as long as the conversation.
  if (output.length === 0) return writeLogItems(conversation, entry);
  done.add(turn);
  return output;
}

async function findSeq(backend: Backend, conversation: string, id: string): Promise<number> {
  const name = readItemId(id);
  if (name?.conversation !== conversation) throw unknownItem('after');
  const { turn, place } = name;
  if (turn === NO_TURN) return readSeq(place);
  const view = await readTurn(backend, conversation, turn);
  if (view?.inputSeq === undefined) throw unknownItem('after');
  if (view.state === 'completed') return view.answer.seq;
  const log = await backend.client.log(backend.nameOf(conversation), { after: view.inputSeq - 1, limit: BATCH });
  return log.findLast((entry) => entry.turn === turn)?.seq ?? view.inputSeq;
}

/** A call that no turn made has its position and its place in the message. */
const POSITION = /^(?<seq>[1-9]\d{0,14})(?:_\d+)?$/;

function readSeq(place: string): number {
  const { seq } = POSITION.exec(place)?.groups ?? {};
  if (seq === undefined) throw unknownItem('after');
  return Number(seq);
}

/** @throws not_found */
export async function readConversationItem(backend: Backend, conversation: string, id: string): Promise<OutputItem> {
  const name = readItemId(id);
  const found = name?.conversation === conversation ? await readItem(backend, name, id) : undefined;
  if (found === undefined) throw unknownItem('item_id');
  return found;
}
