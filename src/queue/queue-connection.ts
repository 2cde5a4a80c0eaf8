import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisLocation } from '../redis/address.ts';
import { reportOutages } from '../redis/errors.ts';
import { openRedis } from '../redis/open-redis.ts';

/** Acknowledged of what went wrong outside of any call; `where` is a queue's name or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

export interface QueueConnectionOptions extends RedisLocation {
  readonly onError: QueueErrorListener;
  /** for clients: a command fails while Redis is away; otherwise it waits until Redis is back */
  readonly failsFast?: boolean;
}

/**
 * One connection to Redis, shared by all queues that it is given to, and the copies that BullMQ makes of it: one per
 * worker, to block on. It owns the copies too, because BullMQ leaves them open where its own close does not end.
 */
export type QueueConnection = (Redis | Cluster) & {
  /** Cuts everything at once, whatever is under way. */
  disconnectAll(): void;
};

/**
 * The script of BullMQ that takes a job takes another one where it is sent again; the first lies there until it passes for a dead
 * worker's. So a stall is waited for as long as the locks of 10 s allow. Of 600 waiting turns and two stalls of 6 s, 5 s made three
 * jobs be taken so.
 */
const ALONE_SILENCE_MS = 8_000;

/** @throws invalid_config */
export function openQueueConnection({ onError, failsFast = false, ...to }: QueueConnectionOptions): QueueConnection {
  const classes = { Redis: QueueRedis, Cluster: QueueCluster };
  const connection = openRedis(to, { failsFast, aloneSilenceMs: ALONE_SILENCE_MS }, classes) as QueueConnection;
  // Calls that wait for a connection listen each: so many at once are no leak. BullMQ counts up and down from here.
  connection.setMaxListeners(Number.POSITIVE_INFINITY);
  const outages = reportOutages((error) => onError(error, 'connection'));
  connection.on('error', outages.onError);
  connection.on('ready', outages.onReady);
  return connection;
}

/** A silent server is left; on a copy BullMQ blocks, for ten seconds at most. */
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
 * Disconnected between two attempts to come back, ioredis forgets the commands that wait: whoever awaits one would wait for
 * ever, and keep the process alive. An attempt that is cut ends them with an error.
 */
function cut(connection: Redis): void {
  if (connection.status === 'end') return; // a second disconnect would keep a timer of two seconds
  if (connection.status === 'reconnecting') connection.connect().catch(() => undefined);
  connection.disconnect();
}

function ignoreSameOutage(): void {
  // The connection itself has said so; without a listener ioredis would print it.
}
