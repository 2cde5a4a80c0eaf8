import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { REDIS_ADDRESS_FORMS, type RedisAddress, readRedisAddress } from '../domain/redis-address.ts';
import { nameRedisError, outage, reportOutages } from '../domain/redis-errors.ts';

export interface ConnectionOptions {
  /** of one server, of Sentinels or of a Cluster */
  readonly url: string;
  /** ms until a command without an answer fails; workers wait, clients do not */
  readonly commandTimeoutMs?: number;
  /** fail at once while Redis is away, instead of queueing commands until it is back */
  readonly failsFast?: boolean;
  /** told once of each outage */
  readonly onError?: (error: Error) => void;
}

/**
 * Opens a connection for scripts. Commands that were sent and not answered are sent again: every script is idempotent.
 * @throws invalid_config
 */
export function openConnection(options: ConnectionOptions): Redis {
  const { failsFast = false, commandTimeoutMs } = options;
  const redis = connectTo(readAddress(options.url), {
    enableAutoPipelining: true,
    // Failing fast, the opener connects itself and hears whether that failed.
    lazyConnect: failsFast,
    maxRetriesPerRequest: failsFast ? 0 : null,
    enableOfflineQueue: !failsFast,
    // A connection that is away has nothing to finish, and ioredis would keep the process alive for two seconds.
    disconnectTimeout: 100,
    connectTimeout: commandTimeoutMs ?? 5_000,
    retryStrategy: backOff,
    ...(commandTimeoutMs === undefined ? {} : { commandTimeout: commandTimeoutMs }),
  });
  const outages = reportOutages((error) => options.onError?.(error));
  redis.on('error', outages.onError);
  redis.on('ready', outages.onReady);
  return redis;
}

type SharedOptions = Pick<
  RedisOptions,
  | 'enableAutoPipelining'
  | 'lazyConnect'
  | 'maxRetriesPerRequest'
  | 'enableOfflineQueue'
  | 'disconnectTimeout'
  | 'connectTimeout'
  | 'retryStrategy'
  | 'commandTimeout'
  | 'autoResendUnfulfilledCommands'
  | 'autoResubscribe'
  | 'reconnectOnError'
>;

/** All that we call of a Redis is there on a Cluster as well, but its copies are made in another way: `duplicateConnection`. */
function connectTo(address: RedisAddress, options: SharedOptions): Redis {
  if (address.kind === 'single') return new Redis(address.url, { ...options, reconnectOnError: isDemoted });
  const { nodes, username, password, isTls } = address;
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const tls = isTls ? { tls: {} } : {};
  if (address.kind === 'sentinel') {
    return new Redis({
      ...options,
      ...login,
      ...tls,
      sentinels: [...nodes],
      name: address.master,
      db: address.database,
      sentinelRetryStrategy: backOff,
      // A Sentinel on a machine that is gone must not cost a fail-fast call its second.
      sentinelCommandTimeout: SENTINEL_MS,
      failoverDetector: true,
      ...(isTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
      reconnectOnError: isDemoted,
    });
  }
  const { lazyConnect = false, enableOfflineQueue = true, enableAutoPipelining: _, ...redisOptions } = options;
  const cluster = new Cluster([...nodes], {
    redisOptions: { ...redisOptions, ...login, ...tls },
    lazyConnect,
    enableOfflineQueue,
    clusterRetryStrategy: backOff,
    slotsRefreshTimeout: SENTINEL_MS,
    // A worker's command waits until a Cluster has voted, a client's fails within its second.
    maxRedirections: options.maxRetriesPerRequest === 0 ? 4 : 100,
    retryDelayOnFailover: 200,
    retryDelayOnClusterDown: 200,
  });
  return cluster as unknown as Redis;
}

const SENTINEL_MS = 500;

function backOff(times: number): number {
  return Math.min(50 * times, 1_000);
}

/** A master that was demoted may keep our connection, and would refuse every write: look again for who is master, and send again. */
function isDemoted(error: Error): 2 | false {
  return error.message.startsWith('READONLY') ? 2 : false;
}

type Defined<Options> = { [Name in keyof NonNullable<Options>]: Exclude<NonNullable<Options>[Name], undefined> };

/** Another connection to the same, with some options of its own. */
export function duplicateConnection(redis: Redis, options: SharedOptions): Redis {
  if (!redis.isCluster) return redis.duplicate(options);
  const { lazyConnect, enableOfflineQueue, enableAutoPipelining: _, ...redisOptions } = options;
  const cluster = redis as unknown as Cluster;
  return cluster.duplicate(undefined, {
    ...(lazyConnect !== undefined && { lazyConnect }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    redisOptions: { ...cluster.options.redisOptions, ...redisOptions } as Defined<typeof cluster.options.redisOptions>,
  }) as unknown as Redis;
}

/** Where it fails ioredis says no more than that the connection is closed; why comes as an event. @throws redis_unavailable */
export async function connect(redis: Redis): Promise<void> {
  let reason: Error | undefined;
  const keepReason = (error: Error): void => {
    reason = error;
  };
  redis.on('error', keepReason);
  try {
    await redis.connect();
  } catch (error) {
    throw outage(reason ?? (error as Error));
  } finally {
    redis.off('error', keepReason);
  }
}

/** The address may hold a password: the error of whoever parses it would quote it. */
function readAddress(url: string): RedisAddress {
  const address = readRedisAddress(url);
  if (address !== undefined) return address;
  const field = 'redisUrl';
  throw new TurnfoldError('invalid_config', `${field}: must be ${REDIS_ADDRESS_FORMS}`, { field });
}

/** Runs a Redis call and names its failure: `redis_full`, `redis_unavailable`, or the error itself where it is ours. */
export async function callRedis<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw nameRedisError(cause);
  }
}
