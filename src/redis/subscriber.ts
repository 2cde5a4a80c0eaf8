import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { duplicateConnection } from './connection.ts';

const PUBLISH = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/**
 * Publishes a text on a channel, in order. In a Cluster any node accepts PUBLISH, but texts published on two nodes may
 * arrive out of order. So a Lua script publishes, because a script always runs on the node of its key.
 */
export async function publish(redis: Redis, channel: string, text: string): Promise<void> {
  if (redis.isCluster) await redis.eval(PUBLISH, 1, channel, text);
  else await redis.publish(channel, text);
}

/**
 * Milliseconds that `catchUp` waits in a Cluster for the text that it publishes itself, because any publication may be
 * lost.
 */
const MARK_MS = 250;

type Listener = (text: string) => void;

interface Channel {
  readonly listeners: Set<Listener>;
  /** Resolves once Redis has confirmed the subscription to the channel. */
  readonly begun: Promise<unknown>;
}

/**
 * Shares one connection for all subscriptions of a process, because a subscribed connection can run no other commands.
 * The connection opens at the first subscription and stays open. Texts that are published during an outage are lost.
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
   * Subscribes a listener to a channel, and resolves once Redis has confirmed. If it rejects, the channel may still be
   * subscribed.
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

  /**
   * Resolves once the listeners have received everything that was published on the channel before this call.
   * @throws if Redis does not answer
   */
  async catchUp(name: string): Promise<void> {
    if (this.#redis.isCluster) await this.#awaitMark(name);
    // On a single server, Redis answers a ping after all earlier publications, so the ping suffices.
    else await this.#connection?.ping();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  /**
   * Publishes a text of its own and waits until that text arrives. In a Cluster, publications take another path than
   * answers, so a ping proves nothing.
   */
  async #awaitMark(name: string): Promise<void> {
    const mark = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MARK_MS);
    const listener = (text: string): void => {
      if (text === mark) resolve();
    };
    try {
      await this.join(name, listener);
      await publish(this.#redis, name, mark);
      await promise;
    } finally {
      clearTimeout(timer);
      this.leave(name, listener);
    }
  }

  #connect(): Redis {
    if (this.#connection !== undefined) return this.#connection;
    const connection = duplicateConnection(this.#redis, {
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      enableAutoPipelining: false,
      // ioredis ignores the failure of its own resubscription, and the unhandled rejection would end the process. So we
      // subscribe again ourselves.
      autoResubscribe: false,
    });
    connection.on('error', () => undefined);
    // The first subscriptions wait in the command queue of the connection, so only later `ready` events resubscribe.
    connection.once('ready', () => connection.on('ready', () => this.#resubscribe(connection)));
    connection.on('message', (name: string, text: string) => {
      for (const listener of this.#channels.get(name)?.listeners ?? []) listener(text);
    });
    this.#connection = connection;
    return connection;
  }

  /**
   * Subscribes to all channels again after a reconnect. If Redis refuses a subscription, the connection is dropped, and
   * the next connection subscribes again.
   */
  #resubscribe(connection: Redis): void {
    const names = [...this.#channels.keys()];
    if (names.length > 0) connection.subscribe(...names).catch(() => connection.disconnect(!this.#isClosed));
  }
}
