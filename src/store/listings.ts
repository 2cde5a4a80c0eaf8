import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import {
  CONVERSATION_STATES,
  type ConversationQuery,
  type ListedConversation,
  type ListedState,
  type ListingStore,
  SETTLED_STATES,
  type WaitingPosition,
  type WaitingQuery,
  type WaitingTurn,
} from '../domain/ports/listing-store.ts';
import type { AnswerKind, TurnUsage, WaitKind } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import type { Keyspace } from './keys.ts';
import { callStore, RecordFields } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { decodeWaiting, WAIT_FIELDS } from './wait-record.ts';

/** Lists conversations and waiting turns of all shards. One script call reads one shard. */
export function openListingStore(redis: Redis, keyspace: Keyspace): ListingStore {
  const bind = scriptBinder(redis, keyspace);
  const conversations = bind(listConversationsScript);
  const waiting = bind(listWaitingScript);
  const shards = keyspace.shardNumbers();
  return {
    listConversations: async ({ after, ...query }) => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after), name: encodeListedName(after) },
        limit: query.limit,
        read: (shard, name) => conversations({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readName(next) }) };
    },
    listWaiting: async ({ after, ...query }) => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after.conversation), name: nameOfWaiting(after) },
        limit: query.limit,
        read: (shard, name) => waiting({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readWaitingName(next) }) };
    },
    readTenantUsage: async (tenant) => {
      const read = await Promise.all(shards.map((shard) => readShardUsage(redis, keyspace.tenantUsage(shard, tenant))));
      return read.reduce(joinUsage, NO_USAGE);
    },
  };
}

/** Reads the sums that `lua/shared/spending.lua` writes. */
async function readShardUsage(redis: Redis, key: string): Promise<TurnUsage> {
  const values = await callStore(() => redis.hgetall(key));
  const fields = new RecordFields(key, new Map(Object.entries(values)));
  const count = (name: keyof TurnUsage): number => fields.count(name) ?? 0;
  return {
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cachedTokens: count('cachedTokens'),
    costMicros: count('costMicros'),
  };
}

/** Query for the listing of one shard. `after` is the name in the shard's set after which to continue, or empty. */
type ShardQuery<Query> = Omit<Query, 'after'> & { readonly shard: number; readonly after: string };

type ListConversationsRow = readonly [
  name: string,
  agent: string,
  state: ListedState,
  head: string,
  turns: string,
  mailbox: number,
  waitsFor: WaitKind | '',
  last: string,
  isForking: number,
];
type ListConversationsReply = readonly [last: string, examined: number, isEnd: number, ...rows: ListConversationsRow[]];

const listConversationsScript: ScriptDefinition<[ShardQuery<ConversationQuery>], ShardPage<ListedConversation>> = {
  file: 'list-conversations',
  keys: ([{ shard }], keyspace) => [keyspace.conversations(shard)],
  args: ([{ shard, after, tenant, limit, agent = '', state = '', idContains = '' }], keyspace) => [
    keyspace.shardPrefix(shard),
    after,
    tenant === undefined ? '' : `${tenant}|`,
    NAMES_PER_SCRIPT,
    limit,
    agent,
    state,
    idContains,
  ],
  decode: (reply) => {
    const [last, examined, isEnd, ...rows] = reply as ListConversationsReply;
    return { last, examined, isEnd: isEnd === 1, rows: readRows(rows, decodeConversationRow) };
  },
};

function encodeListedName({ tenant, id }: ConversationRef): string {
  return `${tenant}|${id}`;
}

function readName(name: string): ConversationRef {
  const [tenant = '', id = ''] = name.split('|');
  return { tenant, id };
}

function decodeConversationRow([
  name,
  agent,
  state,
  head,
  turns,
  mailbox,
  waitsFor,
  last,
  isForking,
]: ListConversationsRow): ListedConversation {
  const fields = new RecordFields(
    name,
    new Map([
      ['head', head],
      ['turns', turns],
    ]),
  );
  const [ended, settledAt] = last.split(' ');
  return {
    ...nameConversation(readName(name)),
    agent,
    state: fields.check('state', state, CONVERSATION_STATES),
    head: fields.needCount('head'),
    turns: fields.needCount('turns'),
    mailbox,
    ...(waitsFor !== '' && { waitsFor }),
    ...(settledAt !== undefined && {
      lastTurn: {
        state: fields.check('last', ended, SETTLED_STATES),
        settledAt: fields.toCount('last', settledAt),
      },
    }),
    ...(isForking === 1 && { isForking: true }),
  };
}

/**
 * Maximum bytes of one page of waiting turns. The arguments of tool calls are not shortened, so that a person approves
 * exactly what will run.
 */
const PAGE_BYTES = 1_000_000;

type ListWaitingRow = readonly [name: string, agent: string, ...wait: (string | null)[]];
type ListWaitingReply = readonly [last: string, examined: number, isEnd: number, ...rows: ListWaitingRow[]];

const listWaitingScript: ScriptDefinition<[ShardQuery<WaitingQuery>], ShardPage<WaitingTurn>> = {
  file: 'list-waiting',
  keys: ([{ shard }], keyspace) => [keyspace.waiting(shard)],
  args: ([{ shard, after, tenant, limit, for: kind }], keyspace) => [
    keyspace.shardPrefix(shard),
    after,
    tenant === undefined ? '' : `${tenant}|${kind === undefined ? '' : `${kind}|`}`,
    NAMES_PER_SCRIPT,
    limit,
    kind ?? '',
    PAGE_BYTES,
  ],
  decode: (reply) => {
    const [last, examined, isEnd, ...rows] = reply as ListWaitingReply;
    return { last, examined, isEnd: isEnd === 1, rows: readRows(rows, decodeWaitingRow) };
  },
};

function nameOfWaiting({ conversation: { tenant, id }, for: kind, turn }: WaitingPosition): string {
  return `${tenant}|${kind}|${id}|${turn}`;
}

function readWaitingName(name: string): WaitingPosition {
  const [tenant = '', kind, id = '', turn = ''] = name.split('|');
  return { conversation: { tenant, id }, for: kind as AnswerKind, turn };
}

function decodeWaitingRow([name, agent, ...wait]: ListWaitingRow): WaitingTurn {
  const { conversation, turn, for: kind } = readWaitingName(name);
  const fields = RecordFields.ofValues(name, WAIT_FIELDS, wait);
  const waiting = decodeWaiting(fields);
  if (waiting === undefined) return fields.refuse('waitFor', 'the field is missing');
  return { ...nameConversation(conversation), turn, agent, waiting: { ...waiting, for: kind } };
}

interface ShardPage<Row> {
  readonly rows: readonly { readonly name: string; readonly item: Row }[];
  /** Last name that the script read, or empty. */
  readonly last: string;
  /** Number of names in the shard's set that the script read. */
  readonly examined: number;
  readonly isEnd: boolean;
}

/** Decodes the rows of a page of a listing. A corrupt row is left out, so that the other rows are still listed. */
function readRows<Row extends readonly [name: string, ...unknown[]], Item>(
  rows: readonly Row[],
  decode: (row: Row) => Item,
): { readonly name: string; readonly item: Item }[] {
  return rows.flatMap((row) => {
    try {
      return [{ name: row[0], item: decode(row) }];
    } catch (error) {
      if (isTurnfoldError(error, 'corrupt_record')) return [];
      throw error;
    }
  });
}

interface ShardWalk<Row> {
  readonly shards: readonly number[];
  /** First shard to read, and the name in it after which to start. Undefined starts with the first shard. */
  readonly from: { readonly shard: number; readonly name: string } | undefined;
  readonly limit: number;
  readonly read: (shard: number, after: string) => Promise<ShardPage<Row>>;
}

/** Maximum names that one script call reads from a shard. The call blocks Redis for about a millisecond. */
const NAMES_PER_SCRIPT = 250;
/** Maximum names that one client call reads in total, even if no name matches the query. */
const NAMES_PER_CALL = 2_000;
/**
 * Maximum shards that are read at the same time. In a small database most shards are empty, and reading one after the
 * other would take long.
 */
const MOST_AT_ONCE = 64;

/**
 * Reads the shards in order until there are `limit` rows or enough names were read.
 * @returns the rows, and the name to continue after, which is undefined after the last shard
 */
async function walkShards<Row>({ shards, from, limit, read }: ShardWalk<Row>): Promise<{
  readonly items: readonly Row[];
  readonly next?: string;
}> {
  const items: Row[] = [];
  const rest = shards.slice(from === undefined ? 0 : shards.indexOf(from.shard));
  let [start, after, width, examinedNames] = [from, '', 1, 0];
  while (rest.length > 0) {
    const wave = rest.splice(0, width);
    const begin = start;
    const pages = await Promise.all(
      wave.map(async (shard) => ({ shard, ...(await read(shard, shard === begin?.shard ? begin.name : '')) })),
    );
    width = Math.min(width * 2, MOST_AT_ONCE);
    for (const [at, { shard, rows, last, examined, isEnd }] of pages.entries()) {
      const taken = rows.slice(0, limit - items.length);
      items.push(...taken.map(({ item }) => item));
      examinedNames += examined;
      after = taken.length < rows.length ? (taken.at(-1)?.name ?? after) : last || after;
      const isWholeShard = isEnd && taken.length === rows.length;
      const hasMore = !isWholeShard || at < wave.length - 1 || rest.length > 0;
      if (hasMore && (items.length >= limit || examinedNames >= NAMES_PER_CALL)) return { items, next: after };
      if (isWholeShard) continue;
      // The shard has more names than one script call reads. Reading continues in this shard, and the later shards are
      // read again.
      start = { shard, name: last };
      rest.unshift(...wave.slice(at));
      width = 1;
      break;
    }
  }
  return { items };
}
