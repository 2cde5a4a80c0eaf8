import type { Redis } from 'ioredis';
import type { ConversationEvent } from '../domain/conversation-event.ts';
import { decodeEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { pairsOf } from './records.ts';
import type { Subscriber } from './redis/subscriber.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

export function openEventStore(redis: Redis, keyspace: Keyspace) {
  return { readEvents: scriptBinder(redis, keyspace)(readEventsScript) };
}

export type EventStore = ReturnType<typeof openEventStore>;

type Entry = readonly [id: string, fields: readonly string[]];

export interface EventPage {
  /** Events after the position, oldest first. If the event `after` was already deleted, all stored events. */
  readonly events: readonly ConversationEvent[];
  /**
   * - `kept`: no event is missing.
   * - `missing`: events may be missing, or the conversation was erased and created again.
   * - `expired`: all events have expired. A reader that was up to date within the retention time has missed none.
   */
  readonly start: 'kept' | 'missing' | 'expired';
  readonly position: string;
  readonly exists: boolean;
}

type Reply = readonly [start: EventPage['start'], position: string, exists: number, ...entries: Entry[]];

export interface EventQuery {
  readonly conversation: ConversationRef;
  /**
   * Id of the last event that the reader received, or FIRST_POSITION. Absent: the page has only the current position.
   */
  readonly after?: string | undefined;
  readonly limit: number;
}

const readEventsScript: ScriptDefinition<[query: EventQuery], EventPage> = {
  file: 'read-events',
  args: ([{ after, limit }]) => ({ after, limit }),
  decode: (reply) => {
    const [start, position, exists, ...entries] = reply as Reply;
    const events = entries.map(([id, fields]) => decodeEvent(id, Object.fromEntries(pairsOf(fields))));
    return { events, start, position: events.at(-1)?.id ?? position, exists: exists === 1 };
  },
};

/** ms for which a channel stays subscribed. A caller that polls, and waits again within this time, misses no event. */
const LINGER_MS = 2_000;

interface Channel {
  readonly waiters: Set<() => void>;
  readonly notify: () => void;
  linger?: NodeJS.Timeout;
}

/** Lets a caller wait for the next event of a conversation. A notification may be lost, so the caller also polls. */
export class EventNotices {
  readonly #subscriber: Subscriber;
  readonly #keyspace: Keyspace;
  readonly #channels = new Map<string, Channel>();

  constructor(subscriber: Subscriber, keyspace: Keyspace) {
    this.#subscriber = subscriber;
    this.#keyspace = keyspace;
  }

  /**
   * Waits for an event. Resolves at the next event, after `ms`, or on abort. Also resolves when listening begins,
   * because earlier events may have been missed.
   */
  async wait(conversation: ConversationRef, ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    const name = this.#keyspace.key(conversation, 'ev');
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
    const channel = this.#join(name, wake);
    clearTimeout(channel.linger);
    await promise;
    clearTimeout(timer);
    signal?.removeEventListener('abort', wake);
    channel.waiters.delete(wake);
    if (channel.waiters.size === 0) channel.linger = setTimeout(() => this.#leave(name), LINGER_MS).unref();
  }

  close(): void {
    for (const { linger } of this.#channels.values()) clearTimeout(linger);
  }

  #join(name: string, resolve: () => void): Channel {
    const known = this.#channels.get(name);
    if (known !== undefined) {
      known.waiters.add(resolve);
      return known;
    }
    const waiters = new Set([resolve]);
    const notify = (): void => {
      for (const wake of waiters) wake();
    };
    const channel: Channel = { waiters, notify };
    this.#channels.set(name, channel);
    // The subscription is not awaited. If it fails, the caller polls after its timeout.
    this.#subscriber.join(name, notify).then(resolve, () => undefined);
    return channel;
  }

  #leave(name: string): void {
    const channel = this.#channels.get(name);
    if (channel?.waiters.size !== 0) return;
    this.#channels.delete(name);
    this.#subscriber.leave(name, channel.notify);
  }
}
