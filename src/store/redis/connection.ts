import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { type RedisLocation, readRedisAddress, usesTls } from './address.ts';
import { nameRedisError, outage, type RedisRefusal, refusalError, reportOutages } from './errors.ts';
import { findRefusal } from './find-refusal.ts';
import { type ConnectionTerms, type NodeOptions, openRedis } from './open-redis.ts';
import { ABORTED, prepareServers } from './server-connections.ts';

export interface ConnectionOptions
  extends RedisLocation,
    Partial<Pick<ConnectionTerms, 'name' | 'failsFast' | 'failSilenceMs' | 'staysDemoted'>> {
  /** Called once per outage of Redis, with its first error. */
  readonly onError?: (error: Error) => void;
}

/**
 * Opens the connection on which scripts run. Unanswered commands are sent again on a new connection. Every script is
 * idempotent, but a calibration may be observed twice.
 * @throws invalid_config if the URL or a TLS setting is invalid
 */
export function openConnection(options: ConnectionOptions): Redis {
  const { failsFast = false, staysDemoted = false, failSilenceMs, name } = options;
  // A Cluster connection has every method that our scripts use.
  const redis = openRedis(options, {
    failsFast,
    staysDemoted,
    // The caller connects by itself, to learn if connecting failed.
    isLazy: failsFast,
    ...(name !== undefined && { name }),
    ...(failSilenceMs !== undefined && { failSilenceMs, connectTimeoutMs: failSilenceMs }),
  }) as Redis;
  const outages = reportOutages((error) => options.onError?.(error));
  redis.on('error', outages.onError);
  redis.on('ready', outages.onReady);
  return redis;
}

export function duplicateConnection(redis: Redis, options: NodeOptions): Redis {
  if (!redis.isCluster) return prepareServers(redis.duplicate({ ...options, ...makeSilence(redis.options, options) }));
  const { lazyConnect, enableOfflineQueue, ...redisOptions } = options;
  const cluster = redis as unknown as Cluster;
  const copy = cluster.duplicate(undefined, {
    ...(lazyConnect !== undefined && { lazyConnect }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- tsc rejects an undefined replyMapping without it
    redisOptions: {
      ...cluster.options.redisOptions,
      ...redisOptions,
      ...makeSilence(cluster.options.redisOptions, options),
    } as NodeOptions,
  });
  return prepareServers(copy) as unknown as Redis;
}

/**
 * Command timeouts of a copied connection. Its commands may run longer than those of the original. ioredis treats 0
 * as 0 ms, not as no limit.
 */
function makeSilence(original: NodeOptions = {}, { commandTimeout = 0 }: NodeOptions) {
  const { socketTimeout } = original;
  return socketTimeout === undefined ? {} : { socketTimeout: Math.max(socketTimeout, commandTimeout) };
}

/** ms to connect. A caller has one second, and the rest is needed to find out why connecting failed. */
const OPEN_MS = 800;

/**
 * Connects a fail-fast connection. On a failure, ioredis rejects with "Connection is closed" and emits the real cause
 * as an event. With Sentinels, ioredis would retry for ever.
 * @param location absent if TLS was already checked
 * @throws redis_unavailable if connecting fails or takes more than 0.8 s
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

/** Finds TLS errors of Sentinels and Clusters, which ioredis hides. Checking the certificates takes milliseconds. */
async function leaveRefused(redis: Redis, location: RedisLocation | undefined): Promise<RedisRefusal | undefined> {
  const address = location && readRedisAddress(location.url);
  if (location === undefined || address === undefined || !usesTls(address)) return undefined;
  const refusal = await findRefusal(location);
  // Otherwise ioredis retries the Sentinels until the deadline.
  if (refusal !== undefined && redis.status !== 'ready') redis.disconnect();
  return refusal;
}

const MOST_RESENDS = 20;

/**
 * Runs an idempotent call, and converts its failure by `nameRedisError`. If the connection ends in the middle of a
 * pipeline, the call is repeated. Without a server, a fail-fast connection then fails at once.
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

export async function callRedisOnce<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw nameRedisError(cause);
  }
}
