import { isTurnfoldError } from '../domain/errors.ts';
import { REDIS_ADDRESS_FORMS, type RedisLocation, readRedisAddress, showAddress } from '../redis/address.ts';
import { nameRedisError } from '../redis/errors.ts';
import { findRefusal } from '../redis/find-refusal.ts';
import { identifyServer, withConnection } from './connection.ts';
import { describeCause, LocalRedisError } from './errors.ts';
import type { LocalRedis } from './local-redis.ts';

const ANSWER_TIMEOUT_MS = 5_000;

/**
 * The Redis that the caller named. It is never started, stopped or replaced: whoever names one means that one, so a
 * silent fall to another source would run work against the wrong database.
 * Throws `redis_url_invalid` or `redis_unreachable`, and `redis_denied` where it refuses the login.
 */
export async function useGivenRedis(location: RedisLocation): Promise<LocalRedis> {
  const { url } = location;
  const address = redactUrl(url);
  try {
    const server = await withConnection(location, ANSWER_TIMEOUT_MS, identifyServer);
    return {
      url,
      source: 'given',
      description: `${server.name} ${server.version} at ${address} (REDIS_URL)`,
      stop: () => Promise.resolve(),
    };
  } catch (error) {
    const named = nameRedisError(error);
    if (isTurnfoldError(named, 'redis_denied')) throw named;
    const { message, hint } = (await findRefusal(location)) ?? {
      message: describeCause(named),
      hint: 'Start it, correct REDIS_URL, or unset REDIS_URL to have a Redis started here.',
    };
    throw new LocalRedisError('redis_unreachable', {
      message: `The Redis given as REDIS_URL (${address}) does not answer: ${message}`,
      hint,
      cause: error,
    });
  }
}

/** `url` as it may be shown. @throws LocalRedisError, which does not repeat it: a mistyped address may still hold a password */
export function redactUrl(url: string): string {
  const address = readRedisAddress(url);
  if (address !== undefined) return showAddress(address);
  throw new LocalRedisError('redis_url_invalid', {
    message: 'REDIS_URL cannot be used: it is no address of a Redis.',
    hint: `Write it as ${REDIS_ADDRESS_FORMS}.`,
  });
}
