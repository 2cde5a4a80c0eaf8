import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisLocation } from '../../store/redis/address.ts';
import { reportOutages } from '../../store/redis/errors.ts';
import { openRedis } from '../../store/redis/open-redis.ts';
import { prepareServers } from '../../store/redis/server-connections.ts';

/** Called for an error that belongs to no call. `where` is a queue's name, or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

export interface QueueConnectionOptions extends RedisLocation {
  readonly onError: QueueErrorListener;
  /** For clients: if true, a command fails while Redis is down. Otherwise the command waits until Redis is back. */
  readonly failsFast?: boolean;
}

/**
 * One Redis connection that several queues share, together with the copies that BullMQ makes of it. Each worker uses
 * one copy for its blocking commands. This class closes the copies itself, because BullMQ leaves them open if its own
 * close does not finish.
 */
export type QueueConnection = (Redis | Cluster) & {
  /** Cuts this connection and its copies at once, even with commands in flight. */
  disconnectAll(): void;
};

/**
 * ms without an answer after which a single Redis server counts as dead, and commands are sent again. If BullMQ sends
 * its script for taking a job a second time, the script takes a second job. The first job then stays locked until its
 * lock lapses. So this time is as long as locks of 10 s allow. With 5 s, two stalls of 6 s locked three of 600 waiting
 * turns in this way.
 */
const ALONE_SILENCE_MS = 8_000;

/** @throws invalid_config if the URL or a TLS setting is invalid */
export function openQueueConnection({ onError, failsFast = false, ...to }: QueueConnectionOptions): QueueConnection {
  const classes = { Redis: QueueRedis, Cluster: QueueCluster };
  const connection = openRedis(to, { failsFast, aloneSilenceMs: ALONE_SILENCE_MS }, classes) as QueueConnection;
  // Each call that waits for the connection adds a listener. Many listeners are no leak here.
  connection.setMaxListeners(Number.POSITIVE_INFINITY);
  const outages = reportOutages((error) => onError(error, 'connection'));
  connection.on('error', outages.onError);
  connection.on('ready', outages.onReady);
  return connection;
}

/** Socket timeout in ms of a duplicated connection. BullMQ sends blocking commands of at most ten seconds on it. */
const BLOCKED_MS = 12_000;

class QueueRedis extends Redis {
  readonly #copies: Redis[] = [];

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = prepareServers(super.duplicate({ ...override, socketTimeout: BLOCKED_MS }));
    copy.on('error', ignoreSameOutage);
    this.#copies.push(copy);
    return copy;
  }

  disconnectAll(): void {
    for (const connection of [this, ...this.#copies]) cut(connection);
  }
}

class QueueCluster extends Cluster {
  readonly #copies: Cluster[] = [];

  override duplicate(nodes?: Parameters<Cluster['duplicate']>[0], override: ClusterOptions = {}): Cluster {
    const redisOptions = { ...this.options.redisOptions, ...override.redisOptions, socketTimeout: BLOCKED_MS };
    const options = { ...override, redisOptions } as Parameters<Cluster['duplicate']>[1];
    const copy = prepareServers(super.duplicate(nodes, options));
    copy.on('error', ignoreSameOutage);
    this.#copies.push(copy);
    return copy;
  }

  disconnectAll(): void {
    for (const connection of [this, ...this.#copies]) {
      if (connection.status !== 'end') connection.disconnect();
    }
  }
}

/**
 * Disconnects from Redis. Between two reconnects, ioredis would forget the waiting commands, and their callers would
 * wait for ever. If a reconnect has just started, cutting it ends these commands with an error.
 */
function cut(connection: Redis): void {
  if (connection.status === 'end') return; // a second disconnect would leave a timer of two seconds
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
  connection.disconnect();
}

function ignoreSameOutage(): void {
  // The main connection already reports the outage. Without this empty listener, ioredis would print the error.
}
