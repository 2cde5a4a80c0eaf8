import type { Redis } from 'ioredis';
import { decodeEvent } from '../domain/event-record.ts';
import type { EventPage, EventQuery, EventStore } from '../domain/ports/event-store.ts';
import type { Keyspace } from './keys.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

/** Durable events in Redis, for services. The script of each operation writes its events. */
export function openEventStore(redis: Redis, keyspace: Keyspace): EventStore {
  return { readEvents: bindScript(redis, readEvents(keyspace)) };
}

type Entry = readonly [id: string, fields: readonly string[]];
type Reply = readonly [start: EventPage['start'], position: string, isThere: number, ...entries: Entry[]];

function readEvents(keyspace: Keyspace): ScriptDefinition<EventQuery, EventPage> {
  return {
    file: 'read-events',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ after = '', limit }) => [after, limit],
    decode: (reply) => {
      const [start, position, isThere, ...entries] = reply as Reply;
      const events = entries.map(([id, fields]) => decodeEvent(id, toRecord(fields)));
      return { events, start, position: events.at(-1)?.id ?? position, exists: isThere === 1 };
    },
  };
}

function toRecord(flat: readonly string[]): Record<string, string> {
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])));
}
