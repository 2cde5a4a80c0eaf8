import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis, ReplyError } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { checkAccess } from '../../store/redis/access.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { nameRedisError } from '../../store/redis/errors.ts';
import { findRefusal, readGreeting } from '../../store/redis/find-refusal.ts';
import { openRedis } from '../../store/redis/open-redis.ts';
import { proveWrites } from '../../store/redis/server-checks.ts';

export interface ServerIdentity {
  readonly name: 'Redis' | 'Valkey';
  /** Version of the server, or "unknown" if an ACL forbids INFO. */
  readonly version: string;
  /** For Valkey, the Redis version with which the server is compatible. Undefined if an ACL forbids INFO. */
  readonly redisVersion: string | undefined;
  readonly pid: number | undefined;
}

/** Connects, runs the work and disconnects, all within `timeoutMs`. The callers have their own retries. */
export async function withConnection<T>(
  location: RedisLocation,
  timeoutMs: number,
  use: (client: Redis | Cluster) => Promise<T>,
): Promise<T> {
  const client = openRedis(location, { failsFast: true, isLazy: true, isTriedOnce: true, connectTimeoutMs: timeoutMs });
  // With Sentinels, ioredis never rejects `connect()`. Otherwise it rejects with "Connection is closed." only. The
  // `error` event has the reason.
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason = error;
  });
  try {
    return await within(
      timeoutMs,
      client.connect().then(() => use(client)),
    );
  } catch (error) {
    throw reason ?? error;
  } finally {
    client.disconnect();
  }
}

/** @throws Error after `timeoutMs`, or the reason of the signal. Does not stop the work */
export async function within<T>(timeoutMs: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** @throws if PING gets no answer */
export async function identifyServer(client: Redis | Cluster): Promise<ServerIdentity> {
  await client.ping();
  const info = await client.info('server').catch(() => '');
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.+?)\\r?$`, 'm').exec(info)?.[1];
  const valkeyVersion = field('valkey_version');
  const redisVersion = field('redis_version');
  const pid = field('process_id');
  return {
    name: valkeyVersion === undefined ? 'Redis' : 'Valkey',
    version: valkeyVersion ?? redisVersion ?? 'unknown',
    redisVersion,
    pid: pid === undefined ? undefined : Number(pid),
  };
}

const PAUSE_MS = 500;
/** Pause between attempts while a server refuses connections. Other connections of the process also try. */
const REFUSED_PAUSE_MS = 2_000;
const ANSWER_MS = 1_000;

/**
 * Waits without limit, and does not keep the process alive. @throws redis_denied
 * @param needsMemory false: a full Redis counts as writable, because the store reports it with its own error
 */
export async function waitUntilWritable(location: RedisLocation, needsMemory = false): Promise<void> {
  // On a refused login, ioredis would print a warning at each attempt, so `findRefusal` asks without ioredis.
  while (await findRefusal(location)) await delay(PAUSE_MS, undefined, { ref: false });
  for (;;) {
    const error = await findObstacle(location);
    if (isTurnfoldError(error, 'redis_denied')) throw error;
    const isFull = isTurnfoldError(error, 'redis_full');
    if (error === undefined || (isFull && !needsMemory)) return;
    await delay(isReply(error) || isFull ? REFUSED_PAUSE_MS : PAUSE_MS, undefined, { ref: false });
  }
}

/** Asks on a connection of its own why Redis does not accept writes. Undefined if it does. */
export async function findObstacle(location: RedisLocation): Promise<unknown> {
  try {
    await withConnection(location, ANSWER_MS, async (client) => {
      await checkAccess(client as Redis, location.prefix);
      await Promise.all((client instanceof Cluster ? client.nodes('master') : [client]).map(proveWrites));
    });
    return undefined;
  } catch (cause) {
    const error = nameRedisError(cause);
    if (isReply(error) || !isTurnfoldError(error, 'redis_unavailable')) return error;
    const greeting = await readGreeting(location);
    // ioredis exports this class without its type.
    const Reply = ReplyError as new (message: string) => Error;
    return greeting === undefined ? error : nameRedisError(new Reply(greeting));
  }
}

export function isReply(error: unknown): error is TurnfoldError {
  return isTurnfoldError(error) && error.cause instanceof ReplyError;
}
