import type { Redis } from 'ioredis';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { readEvents } from './read-events.ts';

/** Durable events in Redis, as services see them. What they tell of writes them, in its own script. */
export function openEventStore(redis: Redis, keyspace: Keyspace): EventStore {
  return { readEvents: bindScript(redis, readEvents(keyspace)) };
}
