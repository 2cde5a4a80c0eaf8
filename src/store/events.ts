import type { Redis } from 'ioredis';
import type { ConversationEvent } from '../domain/conversation-event.ts';
import { decodeEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/** Opens the store of durable events in Redis, which services read. Each operation's own script writes its events. */
export function openEventStore(redis: Redis, keyspace: Keyspace) {
  return { readEvents: scriptBinder(redis, keyspace)(readEventsScript) };
}

export type EventStore = ReturnType<typeof openEventStore>;

type Entry = readonly [id: string, fields: readonly string[]];

export interface EventPage {
  /** Events after `after`, oldest first. If the event `after` was already deleted, all stored events. */
  readonly events: readonly ConversationEvent[];
  /**
   * Completeness of the events after `after`.
   * - `kept`: no event is missing.
   * - `missing`: events may be missing, or the conversation was erased and created again.
   * - `expired`: all events have expired. A reader that was up to date within the retention time has missed none.
   */
  readonly start: 'kept' | 'missing' | 'expired';
  /** Position to pass as `after` in the next query. */
  readonly position: string;
  /** True if the conversation or any of its events exists. */
  readonly exists: boolean;
}

type Reply = readonly [start: EventPage['start'], position: string, exists: number, ...entries: Entry[]];

export interface EventQuery {
  readonly conversation: ConversationRef;
  /**
   * Id of the last event that the reader received, or FIRST_POSITION. If absent, the answer holds only the current
   * position and no events.
   */
  readonly after?: string | undefined;
  /** Maximum number of events on the returned page. */
  readonly limit: number;
}

/** Reads a page of events in one snapshot. */
const readEventsScript: ScriptDefinition<[query: EventQuery], EventPage> = {
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
