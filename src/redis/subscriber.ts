import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { duplicateConnection } from './connection.ts';

const PUBLISH = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/**
 * Publishes a text. In a Cluster any node takes PUBLISH, but texts from two nodes may arrive out of order. A script always
 * runs on the node of its key.
 */
export async function publish(redis: Redis, channel: string, text: string): Promise<void> {
  if (redis.isCluster) await redis.eval(PUBLISH, 1, channel, text);
  else await redis.publish(channel, text);
}

/** Limit of `catchUp` in a Cluster in ms, because the published mark may be lost like any publication. */
const MARK_MS = 250;

type Listener = (text: string) => void;

interface Channel {
  readonly listeners: Set<Listener>;
  /** Resolves once Redis has confirmed the subscription. */
  readonly begun: Promise<unknown>;
}

/**
 * One connection for all subscriptions of a process, because a subscribed connection can run no other commands. It opens at the
 * first channel and stays open. Publications during an outage are lost.
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
   * Resolves once Redis has confirmed the subscription. After a rejection, the channel may still be subscribed.
   * @throws redis_unavailable once closed, because no code would close a new connection
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
   * Resolves once everything published on the channel before this call has arrived.
   * @throws if Redis does not answer
   */
  async catchUp(name: string): Promise<void> {
    if (this.#redis.isCluster) await this.#awaitMark(name);
    // Redis answers a ping after the earlier publications.
    else await this.#connection?.ping();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  /** In a Cluster, publications arrive by other nodes than answers. A published mark follows the same way. */
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
      // ioredis ignores a failed resubscription, and its rejection would end the process.
      autoResubscribe: false,
    });
    connection.on('error', () => undefined);
    // The first subscriptions wait in the queue of the connection.
    connection.once('ready', () => connection.on('ready', () => this.#resubscribe(connection)));
    connection.on('message', (name: string, text: string) => {
      for (const listener of this.#channels.get(name)?.listeners ?? []) listener(text);
    });
    this.#connection = connection;
    return connection;
  }

  /** If Redis refuses the subscriptions, the connection is dropped. The next connection subscribes again. */
  #resubscribe(connection: Redis): void {
    const names = [...this.#channels.keys()];
    if (names.length > 0) connection.subscribe(...names).catch(() => connection.disconnect(!this.#isClosed));
  }
}
