import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import type { Subscriber } from './redis/subscriber.ts';

/** Lets a caller wait for the next event of a conversation. A notification may be lost, so the caller also polls. */
export interface EventNotifications {
  /**
   * Resolves at the next event of the conversation, when listening has begun, after `ms`, or when the signal aborts.
   * The start of listening counts as an event, because earlier events did not reach the caller.
   */
  wait(conversation: ConversationRef, ms: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Milliseconds for which a conversation's channel stays subscribed after its last caller has stopped waiting. A caller
 * that polls and then waits again misses no event.
 */
const LINGER_MS = 2_000;

interface Channel {
  readonly waiters: Set<() => void>;
  readonly notify: () => void;
  linger?: NodeJS.Timeout;
}

export function openEventNotifications(subscriber: Subscriber, keyspace: Keyspace): EventNotifications {
  return new RedisEventNotifications(subscriber, keyspace);
}

class RedisEventNotifications implements EventNotifications {
  readonly #subscriber: Subscriber;
  readonly #keyspace: Keyspace;
  readonly #channels = new Map<string, Channel>();

  constructor(subscriber: Subscriber, keyspace: Keyspace) {
    this.#subscriber = subscriber;
    this.#keyspace = keyspace;
  }

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
    // The subscription is not awaited. If the subscription fails, the caller polls after its timeout.
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
