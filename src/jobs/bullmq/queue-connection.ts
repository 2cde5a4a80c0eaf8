import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisLocation } from '../../store/redis/address.ts';
import { reportOutages } from '../../store/redis/errors.ts';
import { openRedis } from '../../store/redis/open-redis.ts';
import { prepareServers } from '../../store/redis/server-connections.ts';

/** An error that belongs to no call. `where` is a queue's name, or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

interface QueueConnectionOptions extends RedisLocation {
  readonly onError: QueueErrorListener;
  /** True for clients: while Redis is down, a command fails instead of waiting. */
  readonly failsFast?: boolean;
}

/**
 * One connection that several queues share, and the copies that BullMQ makes of it for blocking commands. BullMQ may
 * leave copies open, so `disconnectAll` closes them.
 */
export type QueueConnection = (Redis | Cluster) & {
  /** Closes the connection and its copies at once, even with commands in flight. */
  disconnectAll(): void;
};

/**
 * ms of silence after which a single server counts as dead, and commands are sent again. A script for taking a job,
 * sent twice, takes two jobs, and the first stays locked for 10 s. With a limit of 5 s, two stalls of 6 s locked three
 * of 600 waiting turns.
 */
const ALONE_SILENCE_MS = 8_000;

/** @throws invalid_config if the URL or a TLS setting is invalid */
export function openQueueConnection({ onError, failsFast = false, ...to }: QueueConnectionOptions): QueueConnection {
  const classes = { Redis: QueueRedis, Cluster: QueueCluster };
  const connection = openRedis(to, { failsFast, aloneSilenceMs: ALONE_SILENCE_MS }, classes) as QueueConnection;
  // Each call that waits for the connection adds a listener, so many listeners are no leak here.
  connection.setMaxListeners(Number.POSITIVE_INFINITY);
  const outages = reportOutages((error) => onError(error, 'connection'));
  connection.on('error', outages.onError);
  connection.on('ready', outages.onReady);
  return connection;
}

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
 * While a connection waits to reconnect, ioredis would forget its waiting commands for ever. Starting a reconnect and
 * ending it at once rejects them.
 */
function cut(connection: Redis): void {
  if (connection.status === 'end') return; // a second disconnect would leave a timer of two seconds
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
  connection.disconnect();
}

function ignoreSameOutage(): void {
  // The main connection reports the outage. Without a listener, ioredis would print the error.
}
