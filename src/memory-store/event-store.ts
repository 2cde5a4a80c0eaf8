import { EVENT_LIMITS } from '../domain/conversation-event.ts';
import { decodeEvent } from '../domain/event-record.ts';
import { type EventPage, type EventQuery, type EventStore, FIRST_POSITION } from '../domain/ports/event-store.ts';
import type { MemoryDatabase, MemoryEvent } from './database.ts';

/**
 * Opens the store of durable events in memory. The contract tests in test/store run against this store and against Redis.
 */
export function openMemoryEventStore(db: MemoryDatabase): EventStore {
  return { readEvents: async (query) => readEvents(db, query) };
}

/** Reads a page of events, and whether earlier events were dropped, as `lua/read-events.lua` does in Redis. */
function readEvents(db: MemoryDatabase, { conversation, after, limit }: EventQuery): EventPage {
  const found = db.find(conversation);
  const kept = (found?.events ?? []).map((event) => ({ id: idOf(event), event }));
  const isThere = found !== undefined;
  if (after === undefined) {
    return { events: [], start: 'kept', position: kept.at(-1)?.id ?? FIRST_POSITION, exists: isThere };
  }
  const place = kept.findIndex(({ id }) => id === after);
  const events = kept
    .slice(place + 1, place + 1 + limit)
    .map(({ id, event: { type, fields } }) => decodeEvent(id, { type, ...fields }));
  if (place !== -1) return { events, start: 'kept', position: events.at(-1)?.id ?? after, exists: isThere };
  const mayBeTrimmed = after !== FIRST_POSITION || kept.length >= EVENT_LIMITS.kept;
  const isOld = Number(after.split('-')[0]) + EVENT_LIMITS.keptMs <= db.now();
  const hasExpired = after !== FIRST_POSITION && kept.length === 0 && isThere && isOld;
  const start = hasExpired ? 'expired' : mayBeTrimmed ? 'missing' : 'kept';
  return { events, start, position: events.at(-1)?.id ?? FIRST_POSITION, exists: isThere };
}

export function idOf({ at, nth }: MemoryEvent): string {
  return `${at}-${nth}`;
}
