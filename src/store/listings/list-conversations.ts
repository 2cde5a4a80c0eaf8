import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import {
  CONVERSATION_STATES,
  type ConversationQuery,
  type ListedConversation,
  type ListedState,
  SETTLED_STATES,
} from '../../domain/ports/listing-store.ts';
import type { WaitKind } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { LOOKS_PER_SHARD, readRows, type ShardPage } from './shard-pages.ts';

export interface ConversationShardQuery extends Omit<ConversationQuery, 'after'> {
  readonly shard: number;
  /** a name of the set, or empty */
  readonly after: string;
}

type Row = readonly [
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
type Reply = readonly [last: string, looked: number, isEnd: number, ...rows: Row[]];

export function listConversationsScript(
  keyspace: Keyspace,
): ScriptDefinition<ConversationShardQuery, ShardPage<ListedConversation>> {
  return {
    file: 'list-conversations',
    keys: ({ shard }) => [keyspace.conversations(shard)],
    args: ({ shard, after, tenant, limit, agent = '', state = '' }) => [
      keyspace.shardPrefix(shard),
      after,
      tenant === undefined ? '' : `${tenant}|`,
      LOOKS_PER_SHARD,
      limit,
      agent,
      state,
    ],
    decode: (reply) => {
      const [last, looked, isEnd, ...rows] = reply as Reply;
      return { last, looked, isEnd: isEnd === 1, rows: readRows(rows, decodeRow) };
    },
  };
}

export function encodeListedName({ tenant, id }: ConversationRef): string {
  return `${tenant}|${id}`;
}

export function readName(name: string): ConversationRef {
  const [tenant = '', id = ''] = name.split('|');
  return { tenant, id };
}

function decodeRow([name, agent, state, head, turns, mailbox, waitsFor, last, isForking]: Row): ListedConversation {
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
