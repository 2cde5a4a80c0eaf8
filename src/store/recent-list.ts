import type { Redis } from 'ioredis';
import type { ListedState } from '../domain/conversation.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { NAMES_PER_SCRIPT } from './shard-walk.ts';

/** Place in a list by time. It has no tenant, so a list never leaves the tenant and the owner of its query. */
export interface RecentPosition {
  /** Time of the last message, in ms. */
  readonly at: number;
  readonly id: string;
}

/** A name in the metadata of a conversation, and its value. */
export interface ConversationLabel {
  readonly name: string;
  readonly value: string;
}

interface RowQuery {
  readonly tenant: string;
  readonly idContains?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: ListedState | undefined;
  readonly label?: ConversationLabel | undefined;
  readonly limit: number;
}

export interface RecentQuery extends RowQuery {
  readonly owner?: string | undefined;
  readonly after?: RecentPosition | undefined;
}

export interface RecentPage<Item> {
  readonly items: readonly Item[];
  readonly next?: RecentPosition;
}

type ReadRows<Item> = (
  shard: number,
  names: readonly string[],
  query: RowQuery,
) => Promise<readonly { readonly name: string; readonly item: Item }[]>;

/** Most conversations that one call examines, even if none of them matches the filters. */
const MOST_EXAMINED = 2_000;

/**
 * Lists conversations by the time of their last message, newest first. Every shard has a part of them. So a list reads
 * the newest entries of all shards, which is one command per shard, and takes the newest of all. Only these are then
 * read with their states.
 *
 * A conversation that gets a message while a caller pages moves to the front. It is listed once or not at all.
 */
export function bindListRecent<Item>(redis: Redis, keyspace: Keyspace, readRows: ReadRows<Item>) {
  const addMissing = bindIndex(redis, keyspace);
  return async (query: RecentQuery): Promise<RecentPage<Item>> => {
    const { tenant, owner, after, limit, ...filters } = query;
    await addMissing();
    const shards = keyspace.shardNumbers().map((shard) => {
      const key = keyspace.recent(shard, tenant, owner);
      return new ShardEntries(shard, after, (from, count) => readNewest(redis, key, after?.at, from, count));
    });
    const items: Item[] = [];
    let last: RecentPosition | undefined;
    for (let examined = 0; items.length < limit; ) {
      const entries = await takeNewest(shards, limit - items.length);
      last = entries.at(-1) ?? last;
      const rows = await readAll(entries, tenant, (shard, names) =>
        readRows(shard, names, { tenant, ...filters, limit }),
      );
      items.push(...entries.flatMap(({ id }) => rows.get(`${tenant}|${id}`) ?? []));
      examined += entries.length;
      if (entries.length === 0) return { items };
      if (examined >= MOST_EXAMINED) break;
    }
    return { items, ...(last && { next: { at: last.at, id: last.id } }) };
  };
}

interface Entry extends RecentPosition {
  readonly shard: number;
}

async function readAll<Item>(
  entries: readonly Entry[],
  tenant: string,
  read: (shard: number, names: readonly string[]) => ReturnType<ReadRows<Item>>,
): Promise<ReadonlyMap<string, Item>> {
  const byShard = Map.groupBy(entries, ({ shard }) => shard);
  const rows = await Promise.all(
    [...byShard].map(([shard, found]) =>
      read(
        shard,
        found.map(({ id }) => `${tenant}|${id}`),
      ),
    ),
  );
  return new Map(rows.flat().map(({ name, item }) => [name, item]));
}

/** Entries that a shard sends at a time. With 256 shards, a page of 100 needs two of the average shard. */
const CHUNK = 8;

/** Takes the newest entries of all shards together. */
async function takeNewest(shards: readonly ShardEntries[], count: number): Promise<Entry[]> {
  const taken: Entry[] = [];
  while (taken.length < count) {
    await Promise.all(shards.map((shard) => shard.fill()));
    let newest: ShardEntries | undefined;
    for (const shard of shards) {
      if (shard.first !== undefined && (newest?.first === undefined || isNewer(shard.first, newest.first)))
        newest = shard;
    }
    const entry = newest?.take();
    if (entry === undefined) return taken;
    taken.push(entry);
  }
  return taken;
}

function isNewer(one: RecentPosition, other: RecentPosition): boolean {
  return one.at === other.at ? one.id > other.id : one.at > other.at;
}

async function readNewest(
  redis: Redis,
  key: string,
  most: number | undefined,
  ...limit: readonly [from: number, count: number]
): Promise<RecentPosition[]> {
  const found = await callStore(() =>
    redis.zrevrangebyscore(key, most ?? '+inf', '-inf', 'WITHSCORES', 'LIMIT', ...limit),
  );
  return found.flatMap((id, index) => (index % 2 === 0 ? [{ id, at: Number(found[index + 1]) }] : []));
}

type ReadChunk = (from: number, count: number) => Promise<readonly RecentPosition[]>;

/** Entries of one shard, newest first, which are read as they are needed. */
class ShardEntries {
  readonly #shard: number;
  readonly #after: RecentPosition | undefined;
  readonly #read: ReadChunk;
  readonly #seen = new Set<string>();
  #waiting: RecentPosition[] = [];
  #from = 0;
  #isAtEnd = false;

  constructor(shard: number, after: RecentPosition | undefined, read: ReadChunk) {
    this.#shard = shard;
    this.#after = after;
    this.#read = read;
  }

  get first(): RecentPosition | undefined {
    return this.#waiting[0];
  }

  async fill(): Promise<void> {
    while (this.#waiting.length === 0 && !this.#isAtEnd) {
      const chunk = await this.#read(this.#from, CHUNK);
      this.#from += chunk.length;
      this.#isAtEnd = chunk.length < CHUNK;
      // An entry moves to the front while the list is read, so the next chunk may repeat the end of this one.
      this.#waiting = chunk.filter((entry) => {
        return !this.#seen.has(entry.id) && (this.#after === undefined || isNewer(this.#after, entry));
      });
      for (const { id } of chunk) this.#seen.add(id);
    }
  }

  take(): Entry | undefined {
    const entry = this.#waiting.shift();
    return entry && { ...entry, shard: this.#shard };
  }
}

const indexRecentScript: ScriptDefinition<[shard: number], boolean> = {
  file: 'index-recent',
  keys: ([shard], keyspace) => ({ conversations: keyspace.conversations(shard), indexed: keyspace.indexed(shard) }),
  args: ([shard], keyspace) => ({ shard: keyspace.shardPrefix(shard), maxNames: NAMES_PER_SCRIPT }),
  decode: (reply) => reply === 1,
};

/** Returns a function that adds the conversations of earlier releases to the lists. Its first call does all the work. */
function bindIndex(redis: Redis, keyspace: Keyspace): () => Promise<void> {
  const add = scriptBinder(redis, keyspace)(indexRecentScript);
  const left = new Set(keyspace.shardNumbers());
  return async () => {
    await Promise.all(
      [...left].map(async (shard) => {
        while (!(await add(shard)));
        left.delete(shard);
      }),
    );
  };
}
