import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { Waiting } from '../domain/turn.ts';
import { viewWait } from '../domain/turn.ts';
import { type Keyspace, scheduledMember } from './keys.ts';
import { callStore, pairsOf, RecordFields } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { decodeWaiting, WAIT_FIELDS } from './turn-record.ts';

const PAGE = 1_000;

/** An accepted turn that has not settled. */
export interface OpenTurn {
  readonly turn: string;
  readonly state: 'scheduled' | 'queued' | 'running' | 'waiting';
  /** Time of acceptance in ms since epoch. */
  readonly acceptedAt: number;
  /** Time at which a scheduled turn is queued, in ms since epoch. */
  readonly dueAt?: number;
  /**
   * Input of the turn, if the caller asked for inputs. Absent once a worker has claimed the turn, because the log then
   * has the message.
   */
  readonly input?: string;
  /** Images and files of `input`, as the caller gave them. Absent if there are none. */
  readonly inputParts?: readonly unknown[];
  /** The wait of a waiting turn. Only the oldest unsettled turn can wait. */
  readonly waiting?: Waiting;
}

/** The unsettled turns of a conversation, as of one moment. */
export interface OpenTurns {
  /**
   * Queued turns in the order in which they run, then scheduled turns by due time. If the sweeper postponed a scheduled
   * turn, the later due time counts.
   */
  readonly turns: readonly OpenTurn[];
  /** Number of unsettled turns, including the running or waiting turn. `turns` may list fewer. */
  readonly mailbox: number;
  /** Number of scheduled turns that are not due yet. */
  readonly scheduled: number;
  /** Time of the list in ms since epoch, by the clock of Redis, as for all times of turns and events. */
  readonly at: number;
}

/**
 * Lists the first `limit` unsettled turns. Undefined if the conversation does not exist. Scheduled turns are searched
 * first. Then a script reads states and mailbox at one moment, so a turn that falls due in between is listed once.
 */
export function bindListOpen(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef, limit: number) => Promise<OpenTurns | undefined> {
  const list = scriptBinder(redis, keyspace)(listOpenScript);
  return async (conversation, limit) => list(conversation, limit, await findScheduled(redis, keyspace, conversation));
}

/**
 * Finds scheduled turns in the shard's set `ready`, page by page, which takes 1 ms at 1,000 entries and 10 ms at
 * 10,000. Reading the conversation's index `ix` would cost as much for each turn of the last seven days. A separate set
 * of scheduled turns would cost each turn another write.
 */
async function findScheduled(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<string[]> {
  const ready = keyspace.ready(keyspace.shardOf(conversation));
  // Ids contain no character with a meaning in Redis patterns.
  const prefix = scheduledMember(conversation, '');
  const found = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, page] = await callStore(() => redis.zscan(ready, cursor, 'MATCH', `${prefix}*`, 'COUNT', PAGE));
    for (const [member, dueAt] of pairsOf(page)) found.set(member.slice(prefix.length), Number(dueAt));
    cursor = next;
  } while (cursor !== '0');
  // Sorted by due time as a sweep does, then by name.
  return [...found].toSorted(([a, dueAt], [b, other]) => dueAt - other || (a < b ? -1 : 1)).map(([turn]) => turn);
}

const FIELDS = ['state', 'acceptedAt', 'dueAt', ...WAIT_FIELDS];
const OPEN_STATES = ['scheduled', 'queued', 'running', 'waiting'] as const;

type Row = readonly [turn: string, ...values: (string | null)[]];

type ListOpenReply = [mailbox: number, scheduled: number, at: number, ...rows: Row[]];

const listOpenScript: ScriptDefinition<
  [conversation: ConversationRef, limit: number, candidates: readonly string[]],
  OpenTurns | undefined
> = {
  file: 'list-open',
  args: ([, limit, candidates]) => ({ limit, rest: candidates }),
  decode: (reply, [conversation], keyspace) => {
    if ((reply as ListOpenReply | []).length === 0) return undefined;
    const [mailbox, scheduled, at, ...rows] = reply as ListOpenReply;
    return {
      turns: rows.map(([turn, ...values]) => decodeOpenTurn(turn, keyspace.turn(conversation, turn), values)),
      mailbox,
      scheduled,
      at,
    };
  },
};

function decodeOpenTurn(turn: string, key: string, values: readonly (string | null)[]): OpenTurn {
  const fields = RecordFields.ofValues(key, FIELDS, values);
  const { state, waiting } = viewWait(fields.oneOf('state', OPEN_STATES), decodeWaiting(fields));
  return {
    turn,
    state,
    acceptedAt: fields.needCount('acceptedAt'),
    ...(state === 'scheduled' && { dueAt: fields.needCount('dueAt') }),
    ...(waiting && { waiting }),
  };
}
