import { Cluster, type Redis } from 'ioredis';
import type { RedisLocation } from '../redis/address.ts';
import { openRedis } from '../redis/open-redis.ts';
import { proveWrites } from '../redis/server-checks.ts';

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
