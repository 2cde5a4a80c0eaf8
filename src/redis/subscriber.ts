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

/** Limit of the wait for a mark, which may be lost like any publication. */
const MARK_MS = 250;

export type Hear = (text: string) => void;

interface Channel {
  readonly hearers: Set<Hear>;
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
   * @returns resolves once Redis has confirmed the subscription, rejects if it did not. The channel may be subscribed anyway.
   * @throws redis_unavailable once closed, because no code would close a new connection
   */
  async join(name: string, hear: Hear): Promise<void> {
    if (this.#isClosed) throw new TurnfoldError('redis_unavailable', 'the connection was closed by this process');
    const known = this.#channels.get(name);
    const channel = known ?? { hearers: new Set(), begun: this.#connect().subscribe(name) };
    this.#channels.set(name, channel);
    channel.hearers.add(hear);
    await channel.begun;
  }

  leave(name: string, hear: Hear): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || !channel.hearers.delete(hear) || channel.hearers.size > 0) return;
    this.#channels.delete(name);
    this.#connection?.unsubscribe(name).catch(() => undefined);
  }

  /**
   * Resolves once everything published on the channel before this call has arrived.
   * @throws if Redis does not answer
   */
  async catchUp(name: string): Promise<void> {
    if (this.#redis.isCluster) await this.#hearMark(name);
    // Redis answers a ping after the earlier publications.
    else await this.#connection?.ping();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  /** In a Cluster, publications arrive by other nodes than answers. A published mark follows the same way. */
  async #hearMark(name: string): Promise<void> {
    const mark = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MARK_MS);
    const hear = (text: string): void => {
      if (text === mark) resolve();
    };
    try {
      await this.join(name, hear);
      await publish(this.#redis, name, mark);
      await promise;
    } finally {
      clearTimeout(timer);
      this.leave(name, hear);
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
      for (const hear of this.#channels.get(name)?.hearers ?? []) hear(text);
    });
    this.#connection = connection;
    return connection;
  }

  /** Without an answer, the connection is dropped, and the next one subscribes again. */
  #resubscribe(connection: Redis): void {
    const names = [...this.#channels.keys()];
    if (names.length > 0) connection.subscribe(...names).catch(() => connection.disconnect(!this.#isClosed));
  }
}
