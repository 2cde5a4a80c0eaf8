import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { type RedisLocation, readRedisAddress, usesTls } from './address.ts';
import { nameRedisError, outage, type RedisRefusal, refusalError, reportOutages } from './errors.ts';
import { findRefusal } from './find-refusal.ts';
import { type NodeOptions, openRedis } from './open-redis.ts';

export interface ConnectionOptions extends RedisLocation {
  /** Milliseconds until a command without an answer fails. Workers wait, clients set a limit. */
  readonly commandTimeoutMs?: number;
  /** Commands fail at once while Redis is away, instead of waiting in a queue. */
  readonly failsFast?: boolean;
  /** Called once per outage. */
  readonly onError?: (error: Error) => void;
}

/**
 * Opens a connection for scripts. Unanswered commands are sent again: every script is idempotent, except that an
 * observation of a calibration may count twice.
 * @throws invalid_config
 */
export function openConnection(options: ConnectionOptions): Redis {
  const { failsFast = false, commandTimeoutMs } = options;
  // A Cluster has every command of our scripts. Only `duplicateConnection` treats it differently.
  const redis = openRedis(options, {
    failsFast,
    isPipelined: true,
    // The opener connects a fail-fast connection itself, to learn whether that failed.
    isLazy: failsFast,
    ...(commandTimeoutMs !== undefined && { commandTimeoutMs, connectTimeoutMs: commandTimeoutMs }),
  }) as Redis;
  const outages = reportOutages((error) => options.onError?.(error));
  redis.on('error', outages.onError);
  redis.on('ready', outages.onReady);
  return redis;
}

/** Opens another connection to the same Redis, with some options changed. */
export function duplicateConnection(redis: Redis, options: NodeOptions): Redis {
  if (!redis.isCluster) return redis.duplicate({ ...options, ...makeSilence(redis.options, options) });
  const { lazyConnect, enableOfflineQueue, enableAutoPipelining: _, ...redisOptions } = options;
  const cluster = redis as unknown as Cluster;
  return cluster.duplicate(undefined, {
    ...(lazyConnect !== undefined && { lazyConnect }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- tsc rejects an undefined replyMapping without it
    redisOptions: {
      ...cluster.options.redisOptions,
      ...redisOptions,
      ...makeSilence(cluster.options.redisOptions, options),
    } as NodeOptions,
  }) as unknown as Redis;
}

/** The copy may use longer commands, so it tolerates a longer silence. ioredis reads 0 as 0 ms, not as no limit. */
function makeSilence(original: NodeOptions = {}, { commandTimeout = 0 }: NodeOptions) {
  const { socketTimeout } = original;
  return socketTimeout === undefined ? {} : { socketTimeout: Math.max(socketTimeout, commandTimeout) };
}

/** Limit of `connect` in ms. The rest of a second remains for finding the cause of a failure. */
const OPEN_MS = 800;

/**
 * Connects a fail-fast connection. ioredis rejects with "Connection is closed" and emits the cause as an event. Over
 * Sentinels it would retry forever.
 * @param location absent if TLS was already checked
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

/**
 * Finds why TLS failed and disconnects. Sentinels and a Cluster hide the cause. The check of certificates takes milliseconds.
 */
async function leaveRefused(redis: Redis, location: RedisLocation | undefined): Promise<RedisRefusal | undefined> {
  const address = location && readRedisAddress(location.url);
  if (location === undefined || address === undefined || !usesTls(address)) return undefined;
  const refusal = await findRefusal(location);
  // Without this, ioredis would retry the Sentinels until the deadline.
  if (refusal !== undefined && redis.status !== 'ready') redis.disconnect();
  return refusal;
}

/** Error of ioredis for the commands of a partly answered pipeline, which it does not send again. */
const ABORTED = 'Command aborted due to connection close';
/** One resend per lost connection. */
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
