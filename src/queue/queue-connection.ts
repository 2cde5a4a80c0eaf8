import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisLocation } from '../redis/address.ts';
import { reportOutages } from '../redis/errors.ts';
import { openRedis } from '../redis/open-redis.ts';

/** Called for errors outside of calls. `where` is a queue's name or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

export interface QueueConnectionOptions extends RedisLocation {
  readonly onError: QueueErrorListener;
  /** For clients: a command fails while Redis is away. Otherwise the command waits until Redis is back. */
  readonly failsFast?: boolean;
}

/**
 * One connection to Redis that several queues share, with the copies that BullMQ makes of it. Each worker blocks on one copy.
 * The connection owns its copies, because BullMQ leaves them open when its own close does not end.
 */
export type QueueConnection = (Redis | Cluster) & {
  /** Cuts this connection and its copies at once, with commands in flight. */
  disconnectAll(): void;
};

/**
 * Silence after which a server counts as dead. If BullMQ sends its script for taking a job twice, the script takes two jobs, and the
 * first stays locked until its lock lapses. So this time is as long as locks of 10 s allow. With 5 s, two stalls of 6 s
 * among 600 waiting turns locked three jobs in this way.
 */
const ALONE_SILENCE_MS = 8_000;

/** @throws invalid_config */
export function openQueueConnection({ onError, failsFast = false, ...to }: QueueConnectionOptions): QueueConnection {
  const classes = { Redis: QueueRedis, Cluster: QueueCluster };
  const connection = openRedis(to, { failsFast, aloneSilenceMs: ALONE_SILENCE_MS }, classes) as QueueConnection;
  // Each call that waits for a connection adds a listener. Many of them are no leak.
  connection.setMaxListeners(Number.POSITIVE_INFINITY);
  const outages = reportOutages((error) => onError(error, 'connection'));
  connection.on('error', outages.onError);
  connection.on('ready', outages.onReady);
  return connection;
}

/** Socket timeout of a duplicated connection, in ms. BullMQ blocks on such a connection for ten seconds at most. */
const BLOCKED_MS = 12_000;

class QueueRedis extends Redis {
  readonly #copies: Redis[] = [];

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate({ ...override, socketTimeout: BLOCKED_MS });
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
    const copy = super.duplicate(nodes, { ...override, redisOptions } as Parameters<Cluster['duplicate']>[1]);
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
 * Disconnects. Between two reconnects ioredis would forget the waiting commands, and their callers would wait for ever. Cutting
 * a reconnect that was just started ends the commands with an error.
 */
function cut(connection: Redis): void {
  if (connection.status === 'end') return; // a second disconnect would leave a timer of two seconds
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
  connection.disconnect();
}

function ignoreSameOutage(): void {
  // The connection reports the outage. Without a listener ioredis would print the error.
}
