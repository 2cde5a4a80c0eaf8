import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { type RedisLocation, readRedisAddress, usesTls } from './address.ts';
import { nameRedisError, outage, type RedisRefusal, refusalError, reportOutages } from './errors.ts';
import { findRefusal } from './find-refusal.ts';
import { openRedis } from './open-redis.ts';

export interface ConnectionOptions extends RedisLocation {
  /** ms until a command without an answer fails; workers wait, clients do not */
  readonly commandTimeoutMs?: number;
  /** fail at once while Redis is away, instead of queueing commands until it is back */
  readonly failsFast?: boolean;
  /** told once of each outage */
  readonly onError?: (error: Error) => void;
}

/**
 * Opens a connection for scripts. Commands that were sent and not answered are sent again: every script is idempotent, but for an
 * observation of a calibration, which may count twice.
 * @throws invalid_config
 */
export function openConnection(options: ConnectionOptions): Redis {
  const { failsFast = false, commandTimeoutMs } = options;
  // All that we call of a Redis is there on a Cluster as well, but its copies are made in another way: `duplicateConnection`.
  const redis = openRedis(options, {
    failsFast,
    isPipelined: true,
    // Failing fast, the opener connects itself and hears whether that failed.
    isLazy: failsFast,
    ...(commandTimeoutMs !== undefined && { commandTimeoutMs, connectTimeoutMs: commandTimeoutMs }),
  }) as Redis;
  const outages = reportOutages((error) => options.onError?.(error));
  redis.on('error', outages.onError);
  redis.on('ready', outages.onReady);
  return redis;
}

type CopyOptions = Pick<
  RedisOptions,
  | 'enableAutoPipelining'
  | 'lazyConnect'
  | 'maxRetriesPerRequest'
  | 'enableOfflineQueue'
  | 'commandTimeout'
  | 'autoResendUnfulfilledCommands'
  | 'autoResubscribe'
  | 'reconnectOnError'
>;

type Defined<Options> = { [Name in keyof NonNullable<Options>]: Exclude<NonNullable<Options>[Name], undefined> };

/** Another connection to the same, with some options of its own. */
export function duplicateConnection(redis: Redis, options: CopyOptions): Redis {
  if (!redis.isCluster) return redis.duplicate({ ...options, ...makeSilence(redis.options, options) });
  const { lazyConnect, enableOfflineQueue, enableAutoPipelining: _, ...redisOptions } = options;
  const cluster = redis as unknown as Cluster;
  return cluster.duplicate(undefined, {
    ...(lazyConnect !== undefined && { lazyConnect }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    redisOptions: {
      ...cluster.options.redisOptions,
      ...redisOptions,
      ...makeSilence(cluster.options.redisOptions, options),
    } as Defined<typeof cluster.options.redisOptions>,
  }) as unknown as Redis;
}

/** A silent server is left not sooner than the copy's own commands may take. To ioredis 0 is no time, not none. */
function makeSilence(original: Pick<RedisOptions, 'socketTimeout'> = {}, { commandTimeout = 0 }: CopyOptions) {
  const { socketTimeout } = original;
  return socketTimeout === undefined ? {} : { socketTimeout: Math.max(socketTimeout, commandTimeout) };
}

/** Leaves the rest of a second to the caller, who then hears why. */
const OPEN_MS = 800;

/**
 * Connects what fails fast. Where that fails ioredis says no more than that the connection is closed; why comes as an
 * event. Over Sentinels it would ask them again and again.
 * @param location where TLS was not made with it before
 * @throws redis_unavailable
 */
export async function connect(redis: Redis, location?: RedisLocation): Promise<void> {
  const until = performance.now() + OPEN_MS;
  let reason: Error | undefined;
  let refusal: Promise<RedisRefusal | undefined> | undefined;
  const keepReason = (error: Error): void => {
    reason = error;
    refusal ??= leaveRefused(redis, location);
  };
  redis.on('error', keepReason);
  const deadline = setTimeout(() => {
    reason ??= new Error(`no answer within ${OPEN_MS} ms`);
    redis.disconnect();
  }, OPEN_MS);
  try {
    await redis.connect();
  } catch (error) {
    const rest = delay(Math.max(0, until - performance.now()), undefined, { ref: false });
    const found = await Promise.race([refusal, rest]);
    throw found === undefined ? outage(reason ?? (error as Error)) : refusalError(found, reason);
  } finally {
    clearTimeout(deadline);
    redis.off('error', keepReason);
  }
}

/** Why there is no TLS, Sentinels and a Cluster keep to themselves; a certificate is looked at within milliseconds. */
async function leaveRefused(redis: Redis, location: RedisLocation | undefined): Promise<RedisRefusal | undefined> {
  const address = location && readRedisAddress(location.url);
  if (location === undefined || address === undefined || !usesTls(address)) return undefined;
  const refusal = await findRefusal(location);
  // Over Sentinels the attempts would go on until the deadline.
  if (refusal !== undefined && redis.status !== 'ready') redis.disconnect();
  return refusal;
}

/** ioredis sends unanswered commands again, but not those of a pipeline that was answered in part: it rejects them with this. */
const ABORTED = 'Command aborted due to connection close';
/** Each time the connection was lost. */
const MOST_RESENDS = 20;

/**
 * Runs an idempotent call to Redis and codes its failure by `nameRedisError`. A call whose connection ended amid its pipeline is
 * repeated. On a connection that fails fast, the repeated call is refused at once.
 */
export async function callRedis<T>(call: () => Promise<T>): Promise<T> {
  for (let resends = 0; ; resends += 1) {
    try {
      return await call();
    } catch (cause) {
      const wasAborted = cause instanceof Error && cause.message === ABORTED;
      if (!wasAborted || resends === MOST_RESENDS) throw nameRedisError(cause);
    }
  }
}

/** Like `callRedis`, for a call that must not be repeated on another connection. */
export async function callRedisOnce<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw nameRedisError(cause);
  }
}
