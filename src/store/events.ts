import type { Redis } from 'ioredis';
import { decodeEvent } from '../domain/event-record.ts';
import type { EventPage, EventStore } from '../domain/ports/event-store.ts';
import type { Keyspace } from './keys.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

/** Opens the store of durable events in Redis, which services read. Each operation's own script writes its events. */
export function openEventStore(redis: Redis, keyspace: Keyspace): EventStore {
  return { readEvents: scriptBinder(redis, keyspace)(readEventsScript) };
}

type Entry = readonly [id: string, fields: readonly string[]];
type Reply = readonly [start: EventPage['start'], position: string, exists: number, ...entries: Entry[]];

const readEventsScript: ScriptOf<EventStore['readEvents']> = {
  file: 'read-events',
  args: ([{ after = '', limit }]) => [after, limit],
  decode: (reply) => {
    const [start, position, exists, ...entries] = reply as Reply;
    const events = entries.map(([id, fields]) => decodeEvent(id, toRecord(fields)));
    return { events, start, position: events.at(-1)?.id ?? position, exists: exists === 1 };
  },
};

/** Converts names and values in turn to a record. */
export function toRecord(flat: readonly string[]): Record<string, string> {
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])));
}
