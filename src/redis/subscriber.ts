import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { duplicateConnection } from './connection.ts';

const PUBLISH = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/** A Cluster takes PUBLISH at any node, and on their way from two nodes words overtake each other; a script goes to its key's. */
export async function publish(redis: Redis, channel: string, text: string): Promise<void> {
  if (redis.isCluster) await redis.eval(PUBLISH, 1, channel, text);
  else await redis.publish(channel, text);
}

/** A mark may be lost, as anything that is published. */
const MARK_MS = 250;

export type Hear = (text: string) => void;

interface Channel {
  readonly hearers: Set<Hear>;
  /** resolves once the channel is listened to */
  readonly begun: Promise<unknown>;
}

/**
 * One connection for all that a process listens to, opened at the first channel and kept until the end: a connection that
 * subscribes can do nothing else. What is published while it is away is lost.
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
   * @returns resolves once the channel is listened to; rejects where Redis did not say so, who may listen all the same
   * @throws redis_unavailable once it is closed: a connection that is opened then is closed by nobody
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

  /** What was published on a channel before this call is heard once it resolves. @throws where there is no answer */
  async catchUp(name: string): Promise<void> {
    if (this.#redis.isCluster) await this.#hearMark(name);
    // The answer comes behind it.
    else await this.#connection?.ping();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  /** In a Cluster what is published comes by other nodes than an answer: a mark of our own goes its way, behind it. */
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
      // ioredis would not look at how that ends, and the process would die of a rejection that nobody hears.
      autoResubscribe: false,
    });
    connection.on('error', () => undefined);
    // The first time, what was joined waits in the connection's own queue.
    connection.once('ready', () => connection.on('ready', () => this.#resubscribe(connection)));
    connection.on('message', (name: string, text: string) => {
      for (const hear of this.#channels.get(name)?.hearers ?? []) hear(text);
    });
    this.#connection = connection;
    return connection;
  }

  /** Without an answer the connection is as good as gone: the next one tries again. */
  #resubscribe(connection: Redis): void {
    const names = [...this.#channels.keys()];
    if (names.length > 0) connection.subscribe(...names).catch(() => connection.disconnect(!this.#isClosed));
  }
}
