import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';

/** Listens for events of conversations while somebody waits for one. A notice may be lost: who waits also looks. */
export interface Notices {
  /**
   * Resolves when it is time to look: at a notice of the conversation, once listening has begun (what came before is heard
   * by nobody), or after `ms`.
   */
  wait(conversation: ConversationRef, ms: number): Promise<void>;
  close(): void;
}

/** A channel is left a little after its last waiter: who looks and waits again must not miss what comes in between. */
const LINGER_MS = 2_000;

interface Channel {
  readonly waiters: Set<() => void>;
  linger?: NodeJS.Timeout;
}

/** One connection of its own, opened at the first wait: a subscribed connection can do nothing else. */
export function openNotices(redis: Redis, keyspace: Keyspace): Notices {
  return new RedisNotices(redis, keyspace);
}

class RedisNotices implements Notices {
  readonly #redis: Redis;
  readonly #keyspace: Keyspace;
  readonly #channels = new Map<string, Channel>();
  #subscriber: Redis | undefined;

  constructor(redis: Redis, keyspace: Keyspace) {
    this.#redis = redis;
    this.#keyspace = keyspace;
  }

  async wait(conversation: ConversationRef, ms: number): Promise<void> {
    const name = this.#keyspace.key(conversation, 'ev');
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const channel = this.#join(name, resolve);
    clearTimeout(channel.linger);
    await promise;
    clearTimeout(timer);
    channel.waiters.delete(resolve);
    if (channel.waiters.size === 0) channel.linger = setTimeout(() => this.#leave(name), LINGER_MS).unref();
  }

  close(): void {
    for (const { linger } of this.#channels.values()) clearTimeout(linger);
    this.#subscriber?.disconnect();
  }

  #join(name: string, resolve: () => void): Channel {
    const known = this.#channels.get(name);
    if (known !== undefined) {
      known.waiters.add(resolve);
      return known;
    }
    const channel: Channel = { waiters: new Set([resolve]) };
    this.#channels.set(name, channel);
    // Not awaited: a subscription that fails costs the waiter its time-out, nothing else.
    this.#connect()
      .subscribe(name)
      .then(resolve, () => undefined);
    return channel;
  }

  #leave(name: string): void {
    if (this.#channels.get(name)?.waiters.size !== 0) return;
    this.#channels.delete(name);
    this.#subscriber?.unsubscribe(name).catch(() => undefined);
  }

  #connect(): Redis {
    if (this.#subscriber !== undefined) return this.#subscriber;
    const subscriber = this.#redis.duplicate({
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      enableAutoPipelining: false,
    });
    subscriber.on('error', () => undefined);
    subscriber.on('message', (name: string) => {
      for (const resolve of this.#channels.get(name)?.waiters ?? []) resolve();
    });
    this.#subscriber = subscriber;
    return subscriber;
  }
}
