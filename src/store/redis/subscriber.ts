import type { Redis } from 'ioredis';
import { TurnfoldError } from '../../domain/errors.ts';
import { duplicateConnection } from './connection.ts';

type Listener = (text: string) => void;

interface Channel {
  readonly listeners: Set<Listener>;
  readonly begun: Promise<unknown>;
}

/**
 * One connection for all subscriptions of a process, because a subscribed connection can run no other commands. The
 * connection opens at the first subscription and stays open. Messages that are published during an outage are lost.
 */
export class Subscriber {
  readonly #redis: Redis;
  readonly #channels = new Map<string, Channel>();
  #connection: Redis | undefined;
  #isClosed = false;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Subscribes to a channel. Resolves once Redis has confirmed. After a rejection, the channel may still be subscribed.
   * @throws redis_unavailable after `close`, because a new connection would never be closed
   */
  async join(name: string, listener: Listener): Promise<void> {
    if (this.#isClosed) throw new TurnfoldError('redis_unavailable', 'the connection was closed by this process');
    const known = this.#channels.get(name);
    const channel = known ?? { listeners: new Set(), begun: this.#connect().subscribe(name) };
    this.#channels.set(name, channel);
    channel.listeners.add(listener);
    await channel.begun;
  }

  leave(name: string, listener: Listener): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || !channel.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.#connection?.unsubscribe(name).catch(() => undefined);
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  #connect(): Redis {
    if (this.#connection !== undefined) return this.#connection;
    const connection = duplicateConnection(this.#redis, {
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      // If ioredis' own resubscription failed, its unhandled rejection would end the process.
      autoResubscribe: false,
    });
    connection.on('error', () => undefined);
    // Subscriptions wait in the queue of the connection until its first `ready`. Each later `ready` repeats them.
    connection.once('ready', () => connection.on('ready', () => this.#resubscribe(connection)));
    connection.on('message', (name: string, text: string) => {
      for (const listener of this.#channels.get(name)?.listeners ?? []) listener(text);
    });
    this.#connection = connection;
    return connection;
  }

  /** Subscribes again. If Redis refuses, the connection is dropped, and the next connection subscribes again. */
  #resubscribe(connection: Redis): void {
    const names = [...this.#channels.keys()];
    if (names.length > 0) connection.subscribe(...names).catch(() => connection.disconnect(!this.#isClosed));
  }
}
