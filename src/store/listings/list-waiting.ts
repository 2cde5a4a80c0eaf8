import { nameConversation } from '../../domain/ids.ts';
import type { WaitingPosition, WaitingQuery, WaitingTurn } from '../../domain/ports/listing-store.ts';
import type { AnswerKind } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeWaiting, WAIT_FIELDS } from '../turns/turn-record.ts';
import { LOOKS_PER_SHARD, readRows, type ShardPage } from './shard-pages.ts';

export interface WaitingShardQuery extends Omit<WaitingQuery, 'after'> {
  readonly shard: number;
  /** a name of the set, or empty */
  readonly after: string;
}

/** Arguments are told whole, so that nobody approves what was cut off: a page ends once its calls have so many bytes. */
const PAGE_BYTES = 1_000_000;

type Row = readonly [name: string, agent: string, ...wait: (string | null)[]];
type Reply = readonly [last: string, looked: number, isEnd: number, ...rows: Row[]];

export function listWaitingScript(keyspace: Keyspace): ScriptDefinition<WaitingShardQuery, ShardPage<WaitingTurn>> {
  return {
    file: 'list-waiting',
    keys: ({ shard }) => [keyspace.waiting(shard)],
    args: ({ shard, after, tenant, limit, for: kind }) => [
      keyspace.shardPrefix(shard),
      after,
      tenant === undefined ? '' : `${tenant}|${kind === undefined ? '' : `${kind}|`}`,
      LOOKS_PER_SHARD,
      limit,
      kind ?? '',
      PAGE_BYTES,
    ],
    decode: (reply) => {
      const [last, looked, isEnd, ...rows] = reply as Reply;
      return { last, looked, isEnd: isEnd === 1, rows: readRows(rows, decodeRow) };
    },
  };
}

export function nameOfWaiting({ conversation: { tenant, id }, for: kind, turn }: WaitingPosition): string {
  return `${tenant}|${kind}|${id}|${turn}`;
}

export function readWaitingName(name: string): WaitingPosition {
  const [tenant = '', kind, id = '', turn = ''] = name.split('|');
  return { conversation: { tenant, id }, for: kind as AnswerKind, turn };
}

function decodeRow([name, agent, ...wait]: Row): WaitingTurn {
  const { conversation, turn, for: kind } = readWaitingName(name);
  const fields = RecordFields.ofValues(name, WAIT_FIELDS, wait);
  const waiting = decodeWaiting(fields);
  if (waiting === undefined) return fields.refuse('wfor', 'it is missing');
  return { ...nameConversation(conversation), turn, agent, waiting: { ...waiting, for: kind } };
}
