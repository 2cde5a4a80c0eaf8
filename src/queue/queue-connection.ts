import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { REDIS_ADDRESS_FORMS, type RedisAddress, readRedisAddress } from '../domain/redis-address.ts';
import { reportOutages } from '../domain/redis-errors.ts';

/** Told of what went wrong outside of any call; `where` is a queue's name or `connection`. */
export type QueueErrorListener = (error: unknown, where: string) => void;

export interface QueueConnectionOptions {
  /** of one server, of Sentinels or of a Cluster */
  readonly url: string;
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

/** @throws invalid_config */
export function openQueueConnection({ url, onError, failsFast = false }: QueueConnectionOptions): QueueConnection {
  const address = readRedisAddress(url);
  if (address === undefined) {
    const field = 'redisUrl';
    throw new TurnfoldError('invalid_config', `${field}: must be ${REDIS_ADDRESS_FORMS}`, { field });
  }
  const connection = connectTo(address, failsFast);
  const outages = reportOutages((error) => onError(error, 'connection'));
  connection.on('error', outages.onError);
  connection.on('ready', outages.onReady);
  return connection;
}

function connectTo(address: RedisAddress, failsFast: boolean): QueueConnection {
  const shared = {
    maxRetriesPerRequest: failsFast ? 0 : null,
    // A closed socket never says so again, and ioredis would wait two seconds for it.
    disconnectTimeout: 100,
    connectTimeout: 5_000,
    retryStrategy: backOff,
    reconnectOnError: isDemoted,
  };
  const enableOfflineQueue = !failsFast;
  if (address.kind === 'single') return new QueueRedis(address.url, { ...shared, enableOfflineQueue });
  const { nodes, username, password, isTls } = address;
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const tls = isTls ? { tls: {} } : {};
  if (address.kind === 'cluster') {
    return new QueueCluster([...nodes], {
      redisOptions: { ...shared, ...login, ...tls },
      enableOfflineQueue,
      clusterRetryStrategy: backOff,
      slotsRefreshTimeout: LOOKUP_MS,
      maxRedirections: failsFast ? 4 : 100,
      retryDelayOnFailover: 200,
      retryDelayOnClusterDown: 200,
    });
  }
  return new QueueRedis({
    ...shared,
    ...login,
    ...tls,
    enableOfflineQueue,
    sentinels: [...nodes],
    name: address.master,
    db: address.database,
    sentinelRetryStrategy: backOff,
    sentinelCommandTimeout: LOOKUP_MS,
    failoverDetector: true,
    ...(isTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  });
}

const LOOKUP_MS = 500;

function backOff(times: number): number {
  return Math.min(50 * times, 1_000);
}

/** A master that was demoted may keep our connection, and would refuse every write: look again for who is master, and send again. */
function isDemoted(error: Error): 2 | false {
  return error.message.includes('READONLY') ? 2 : false;
}

class QueueRedis extends Redis {
  readonly #copies: Redis[] = [];

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(override);
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

  override duplicate(...override: Parameters<Cluster['duplicate']>): Cluster {
    const copy = super.duplicate(...override);
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
