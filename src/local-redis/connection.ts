import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { nameRedisError } from '../domain/redis-errors.ts';
import type { RedisLocation } from '../domain/redis-tls.ts';
import { checkAccess } from '../redis/access.ts';
import { openRedis } from '../redis/open-redis.ts';
import { proveWrites } from '../redis/prove-writes.ts';
import { findRefusal } from '../redis/refusal.ts';

export interface ServerIdentity {
  readonly name: 'Redis' | 'Valkey';
  /** "unknown" where INFO is not allowed. */
  readonly version: string;
  /** Which Redis a Valkey is as good as. */
  readonly redisVersion: string | undefined;
  readonly pid: number | undefined;
}

/**
 * Opens one connection to a Redis, to the master where it names Sentinels, runs `use` and closes it, all within `timeoutMs`.
 * Throws what the server or the network said; no retries, because the callers decide about those.
 */
export async function withConnection<T>(
  location: RedisLocation,
  timeoutMs: number,
  use: (client: Redis | Cluster) => Promise<T>,
): Promise<T> {
  const client = openRedis(location, { failsFast: true, isLazy: true, isTriedOnce: true, connectTimeoutMs: timeoutMs });
  // connect() rejects with "Connection is closed.", or over Sentinels not at all; the reason arrives as an event.
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason = error;
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const deadline = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([client.connect().then(() => use(client)), late]);
  } catch (error) {
    throw reason ?? error;
  } finally {
    clearTimeout(deadline);
    client.disconnect();
  }
}

/** Proves that `client` answers PING and says who it is. INFO may be forbidden by an ACL, PING is what counts. */
export async function identifyServer(client: Redis | Cluster): Promise<ServerIdentity> {
  await client.ping();
  return parseIdentity(await client.info('server').catch(() => ''));
}

/** Throws unless every master takes writes; a Cluster that has lost one is not even connected to. */
export async function proveAllWrites(client: Redis | Cluster): Promise<void> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  await Promise.all(masters.map(proveWrites));
}

function parseIdentity(info: string): ServerIdentity {
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
const ANSWER_MS = 1_000;

/**
 * Asks a Redis, however it is run, until it takes writes, however long it is away or fails a TLS handshake. The pauses between do
 * not keep a process.
 * @throws redis_denied where Redis answers and refuses our login, or its ACL something that workers do
 */
export async function untilAnswer(location: RedisLocation): Promise<void> {
  // Apart, for ioredis would print at each try that it takes no password.
  while (await findRefusal(location)) await delay(PAUSE_MS, undefined, { ref: false });
  while (!(await doesAnswer(location))) await delay(PAUSE_MS, undefined, { ref: false });
}

async function doesAnswer(location: RedisLocation): Promise<boolean> {
  try {
    await withConnection(location, ANSWER_MS, async (client) => {
      await checkAccess(client as Redis);
      await proveAllWrites(client);
    });
    return true;
  } catch (cause) {
    const error = nameRedisError(cause);
    if (isTurnfoldError(error, 'redis_denied')) throw error;
    // A full one is there: that it is full is another failure, with another remedy.
    return isTurnfoldError(error, 'redis_full');
  }
}
