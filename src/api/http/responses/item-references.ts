import { fieldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny } from '../front-end/reads.ts';
import { NO_TURN, writeLogItems } from '../openai/log-items.ts';
import type { PlacedItem } from './create-request.ts';
import { ResponseTable } from './events.ts';
import { type ItemName, readItemId, type TurnName } from './response-names.ts';
import { type OutputItem, writeCall } from './response-object.ts';

/** Reads the items of a turn as its response shows them now. Empty if the turn is no longer kept. */
export async function readTurnItems({ client, nameOf }: Backend, name: TurnName): Promise<readonly OutputItem[]> {
  const { conversation, turn } = name;
  const view = await readIfAny(client.result(nameOf(conversation), turn));
  if (view === undefined) return [];
  const table = new ResponseTable({ name, agent: view.agent, createdAt: view.acceptedAt, background: false });
  for await (const part of client.stream(nameOf(conversation), turn, { waitMs: 0 })) {
    table.add(part);
    if (table.isDone) break;
  }
  return table.output;
}

/** Reads the item with an id. Undefined if the server no longer has it. */
export async function readItem(
  backend: Backend,
  name: ItemName,
  id: string,
  read = (one: ItemName) => readItemsOf(backend, one),
): Promise<OutputItem | undefined> {
  const found = (await read(name)).find((item) => item.id === id);
  return found ?? (name.prefix === 'fc' ? await readAnsweredCall(backend, name) : undefined);
}

/** A call that its caller has answered is among the items of its turn as a call of the server, under another id. */
async function readAnsweredCall({ client, nameOf }: Backend, name: ItemName): Promise<OutputItem | undefined> {
  const seq = seqOfCallId(name.place);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const [entry] = (await readIfAny(client.log(nameOf(name.conversation), { after: seq - 1, limit: 1 }))) ?? [];
  const call = entry?.turn === name.turn ? entry.message.toolCalls?.find(({ id }) => id === name.place) : undefined;
  return call && writeCall(name, call);
}

/** Reads the items that an id belongs to: those of its turn, or those of a message that no turn wrote. */
async function readItemsOf(backend: Backend, name: ItemName): Promise<readonly OutputItem[]> {
  const { conversation, turn, place } = name;
  if (turn !== NO_TURN) return await readTurnItems(backend, name);
  const seq = Number.parseInt(place, 10);
  if (!Number.isSafeInteger(seq) || seq < 1) return [];
  const reading = backend.client.log(backend.nameOf(conversation), { after: seq - 1, limit: 1 });
  return ((await readIfAny(reading)) ?? []).flatMap((entry) => writeLogItems(conversation, entry));
}

/**
 * Replaces references by their items. A client that lets the server store responses sends only the ids of their items.
 * @param continued conversation that the request goes on with. References to its items need no reading
 * @throws not_found with the path of a reference to an unknown item
 */
export async function resolveReferences(
  backend: Backend,
  placed: readonly PlacedItem[],
  continued: string | undefined,
): Promise<PlacedItem[]> {
  const outputs = new Map<string, Promise<readonly OutputItem[]>>();
  const readOnce = (name: ItemName): Promise<readonly OutputItem[]> => {
    const key = `${name.conversation}~${name.turn}~${name.turn === NO_TURN ? name.place : ''}`;
    const found = outputs.get(key) ?? readItemsOf(backend, name);
    outputs.set(key, found);
    return found;
  };
  const read: ReadItem = (name, id) => readItem(backend, name, id, readOnce);
  const resolved: PlacedItem[] = [];
  for (const one of placed) {
    if (one.item.type === 'item_reference') resolved.push(...(await resolve(one, read, continued)));
    else resolved.push(await complete(one, read));
  }
  return resolved;
}

type ReadItem = (name: ItemName, id: string) => Promise<OutputItem | undefined>;

/** Some clients drop the result of a call that the server ran. */
async function complete(one: PlacedItem, read: ReadItem): Promise<PlacedItem> {
  const { type, output } = one.item;
  const id = one.item.id ?? '';
  const name = type === 'mcp_call' && typeof output !== 'string' ? readItemId(id) : undefined;
  if (name === undefined) return one;
  const item = await read(name, id);
  return item === undefined ? one : { ...one, item };
}

async function resolve(one: PlacedItem, read: ReadItem, continued: string | undefined): Promise<PlacedItem[]> {
  const { item: given, at } = one;
  const id = given.id ?? '';
  const name = readItemId(id);
  if (name === undefined) throw fieldError('not_found', `${at}.id`, 'no item has this id');
  // Reasoning is kept for some minutes only, and no other model may read it.
  if (name.prefix === 'rs') return [];
  if (name.conversation === continued) return [one];
  const item = await read(name, id);
  if (item === undefined) throw fieldError('not_found', `${at}.id`, 'no item has this id, or it is no longer kept');
  return [{ item, at }];
}
