import type { Redis } from 'ioredis';
import { CONVERSATION_STATES, type ListedState } from '../domain/conversation.ts';
import type { ConversationAbout } from '../domain/conversation-about.ts';
import { type ConversationRef, type NamedConversation, nameConversation } from '../domain/ids.ts';
import type { AnswerKind, TurnUsage, Waiting, WaitKind } from '../domain/turn.ts';
import { SETTLED_STATES } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import { decodeAbout, readAboutScript } from './about.ts';
import type { Keyspace } from './keys.ts';
import { listAgents } from './presence.ts';
import { bindListRecent, type ConversationLabel } from './recent-list.ts';
import { RecordFields } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { decodePage, NAMES_PER_SCRIPT, type PageReply, type ShardPage, walkShards } from './shard-walk.ts';
import { decodeWaiting, WAIT_FIELDS } from './turn-record.ts';

/** A page of a list. The order never changes while a caller pages through the list: by shard, then by name. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  /** Position of the next page. Absent on the last page. Any earlier page may have few items or none. */
  readonly next?: Position;
}

export function openListingStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  const conversations = bind(listConversationsScript);
  const waiting = bind(listWaitingScript);
  const shards = keyspace.shardNumbers();
  return {
    listConversations: async ({
      after,
      ...query
    }: ConversationQuery): Promise<ListPage<ListedConversation, ConversationRef>> => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after), name: encodeListedName(after) },
        limit: query.limit,
        read: (shard, name) => conversations({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readName(next) }) };
    },
    listWaiting: async ({ after, ...query }: WaitingQuery): Promise<ListPage<WaitingTurn, WaitingPosition>> => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after.conversation), name: nameOfWaiting(after) },
        limit: query.limit,
        read: (shard, name) => waiting({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readWaitingName(next) }) };
    },
    listRecent: bindListRecent(redis, keyspace, async (shard, names, query) => {
      const page = await conversations({ ...query, shard, after: '', limit: names.length }, names);
      return page.rows;
    }),
    readAbout: bind(readAboutScript),
    listAgents: () => listAgents(redis, keyspace),
    /** Usage of all settled turns and summaries of a tenant, including those of erased conversations. */
    readTenantUsage: async (tenant: string): Promise<TurnUsage> => {
      const read = await Promise.all(shards.map((shard) => readShardUsage(redis, keyspace.tenantUsage(shard, tenant))));
      return read.reduce(joinUsage, NO_USAGE);
    },
  };
}

export type ListingStore = ReturnType<typeof openListingStore>;

async function readShardUsage(redis: Redis, key: string): Promise<TurnUsage> {
  const fields = await RecordFields.read(redis, key);
  const count = (name: keyof TurnUsage): number => fields.count(name) ?? 0;
  return {
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cachedTokens: count('cachedTokens'),
    costMicros: count('costMicros'),
  };
}

/** A query for one shard. `after`: the name in the shard's set after which to continue, or empty. */
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
  ...about: string[],
];

interface ListQuery<Position> {
  readonly tenant?: string | undefined;
  /** Position after which the page starts, even if its item no longer exists. */
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface ConversationQuery extends ListQuery<ConversationRef> {
  readonly idContains?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: ListedState | undefined;
  readonly label?: ConversationLabel | undefined;
}

/** A conversation in a list. Other client calls accept this object as the name of the conversation. */
export interface ListedConversation extends NamedConversation, ConversationAbout {
  readonly agent: string;
  /** State of the oldest unsettled turn, or of the last settled one. */
  readonly state: ListedState;
  /** Last seq of the log, which is also its number of messages. */
  readonly head: number;
  /** Number of user messages in the log, including appended messages. */
  readonly turns: number;
  /** Number of unsettled turns, without scheduled turns. */
  readonly mailbox: number;
  /** Present if the oldest unsettled turn waits. */
  readonly waitsFor?: WaitKind;
  /** Last settled turn. Absent before the first one. */
  readonly lastTurn?: {
    readonly state: (typeof SETTLED_STATES)[number];
    /** ms since epoch, by the clock of Redis. */
    readonly settledAt: number;
  };
  /** Present while a fork copies messages into this conversation, so that its log is incomplete. */
  readonly isForking?: true;
}

/** @param names conversations to list, instead of those after `after` */
const listConversationsScript: ScriptDefinition<
  [query: ShardQuery<ConversationQuery>, names?: readonly string[]],
  ShardPage<ListedConversation>
> = {
  file: 'list-conversations',
  keys: ([{ shard }], keyspace) => ({ conversations: keyspace.conversations(shard) }),
  args: ([{ shard, after, tenant, limit, agent, state, idContains, label }, names = []], keyspace) => ({
    shard: keyspace.shardPrefix(shard),
    after,
    prefix: tenant && `${tenant}|`,
    maxNames: NAMES_PER_SCRIPT,
    limit,
    agent,
    state,
    part: idContains,
    label: label?.name,
    labelValue: label?.value,
    rest: names,
  }),
  decode: (reply) => decodePage(reply as PageReply<ListConversationsRow>, decodeConversationRow),
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
  ...about
]: ListConversationsRow): ListedConversation {
  const fields = RecordFields.ofValues(name, ['head', 'turns'], [head, turns]);
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
    ...decodeAbout(about, Number(settledAt ?? 0)),
  };
}

/**
 * Limit of bytes for one page of waiting turns. Arguments are not shortened, so that a person approves exactly what
 * will run.
 */
const PAGE_BYTES = 1_000_000;

type ListWaitingRow = readonly [name: string, agent: string, ...wait: (string | null)[]];

export interface WaitingPosition {
  readonly conversation: ConversationRef;
  readonly for: AnswerKind;
  readonly turn: string;
}

export interface WaitingQuery extends ListQuery<WaitingPosition> {
  readonly for?: AnswerKind | undefined;
}

/**
 * A turn that waits for results from outside or for a person. The client calls `answer` and `cancel` accept this object
 * as the name of the turn.
 */
export interface WaitingTurn extends NamedConversation {
  /** Id of the turn, for the client calls `answer` and `cancel`. */
  readonly turn: string;
  readonly agent: string;
  readonly waiting: Waiting & {
    /** Reason of the wait. `tools`: results from outside. `approval`: decisions of a person. */
    readonly for: AnswerKind;
  };
}

const listWaitingScript: ScriptDefinition<[ShardQuery<WaitingQuery>], ShardPage<WaitingTurn>> = {
  file: 'list-waiting',
  keys: ([{ shard }], keyspace) => ({ waiting: keyspace.waiting(shard) }),
  args: ([{ shard, after, tenant, limit, for: kind }], keyspace) => ({
    shard: keyspace.shardPrefix(shard),
    after,
    prefix: tenant && `${tenant}|${kind === undefined ? '' : `${kind}|`}`,
    maxNames: NAMES_PER_SCRIPT,
    limit,
    kind,
    maxBytes: PAGE_BYTES,
  }),
  decode: (reply) => decodePage(reply as PageReply<ListWaitingRow>, decodeWaitingRow),
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
