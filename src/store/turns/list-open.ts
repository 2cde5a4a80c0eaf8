import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { OpenTurn, OpenTurns, TurnIntake } from '../../domain/ports/turn-store.ts';
import { callStore } from '../corrupt-record.ts';
import { type Keyspace, scheduledMember } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import { bindScript, type ScriptDefinition } from '../script.ts';
import { decodeWaiting, WAIT_FIELDS } from './turn-record.ts';

/** Entries that one command looks at. */
const PAGE = 1_000;

interface OpenRequest {
  readonly conversation: ConversationRef;
  readonly limit: number;
  /** what may be scheduled, by due time */
  readonly candidates: readonly string[];
}

/**
 * Two reads. Nothing of a conversation names its scheduled turns alone, so their entries are searched first; what has become of
 * them is decided by the script, with the mailbox before it: a turn that falls due between the two is told once, in its place.
 */
export function bindListOpen(redis: Redis, keyspace: Keyspace): TurnIntake['listOpen'] {
  const list = bindScript(redis, listScript(keyspace));
  return async (conversation, limit) => {
    const candidates = await findScheduled(redis, keyspace, conversation);
    return list({ conversation, limit, candidates });
  };
}

/**
 * Over what the whole shard has in `ready`, a page at a time, so that Redis does other work between two: 1 ms where a shard has
 * 1,000 entries, 10 at 10,000. (A walk over the conversation's `ix` would cost as much for each of its turns of seven days, and
 * a set of its scheduled turns a write more for each, which nobody else reads.)
 */
async function findScheduled(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<string[]> {
  const ready = keyspace.ready(keyspace.shardOf(conversation));
  // Ids hold nothing that a pattern would read as its own.
  const prefix = scheduledMember(conversation, '');
  const found = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, page] = await callStore(() => redis.zscan(ready, cursor, 'MATCH', `${prefix}*`, 'COUNT', PAGE));
    for (let at = 0; at + 1 < page.length; at += 2) {
      found.set(page[at]?.slice(prefix.length) ?? '', Number(page[at + 1]));
    }
    cursor = next;
  } while (cursor !== '0');
  // The order in which a sweep takes them, also where two are due in the same ms.
  return [...found].toSorted(([a, dueAt], [b, other]) => dueAt - other || (a < b ? -1 : 1)).map(([turn]) => turn);
}

const FIELDS = ['state', 'acceptedAt', 'dueAt', ...WAIT_FIELDS];
const OPEN_STATES = ['scheduled', 'queued', 'running', 'waiting'] as const;

type Row = readonly [turn: string, ...values: (string | null)[]];

type Reply = [mailbox: number, scheduled: number, ...rows: Row[]];

function listScript(keyspace: Keyspace): ScriptDefinition<OpenRequest, OpenTurns | undefined> {
  return {
    file: 'list-open',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ limit, candidates }) => [limit, ...candidates],
    decode: (reply, { conversation }) => {
      if ((reply as Reply | []).length === 0) return undefined;
      const [mailbox, scheduled, ...rows] = reply as Reply;
      return {
        turns: rows.map(([turn, ...values]) => decodeOpenTurn(turn, keyspace.turn(conversation, turn), values)),
        mailbox,
        scheduled,
      };
    },
  };
}

function decodeOpenTurn(turn: string, key: string, values: readonly (string | null)[]): OpenTurn {
  const fields = RecordFields.ofValues(key, FIELDS, values);
  const state = fields.oneOf('state', OPEN_STATES);
  const waiting = state === 'waiting' ? decodeWaiting(fields) : undefined;
  return {
    turn,
    state,
    acceptedAt: fields.needCount('acceptedAt'),
    ...(state === 'scheduled' && { dueAt: fields.needCount('dueAt') }),
    ...(waiting && { waiting }),
  };
}
