import { isTurnfoldError } from '../../domain/errors.ts';
import { REDIS_ADDRESS_FORMS, type RedisLocation, readRedisAddress, showAddress } from '../../store/redis/address.ts';
import { nameRedisError } from '../../store/redis/errors.ts';
import { findRefusal } from '../../store/redis/find-refusal.ts';
import { identifyServer, withConnection } from './connection.ts';
import type { LocalRedis } from './local-redis.ts';
import { describeCause, LocalRedisError } from './local-redis.ts';

const ANSWER_TIMEOUT_MS = 5_000;

/**
 * If the configured Redis is unreachable, no other one replaces it: work would run against the wrong database.
 * @throws LocalRedisError `redis_url_invalid` or `redis_unreachable`, TurnfoldError `redis_denied`
 */
export async function useConfiguredRedis(location: RedisLocation): Promise<LocalRedis> {
  const { url } = location;
  const address = redactUrl(url);
  try {
    const server = await withConnection(location, ANSWER_TIMEOUT_MS, identifyServer);
    return {
      url,
      source: 'configured',
      description: `${server.name} ${server.version} at ${address} (REDIS_URL)`,
      stop: () => Promise.resolve(),
    };
  } catch (error) {
    const named = nameRedisError(error);
    if (isTurnfoldError(named, 'redis_denied')) throw named;
    const { message, hint } = (await findRefusal(location)) ?? {
      message: describeCause(named),
      hint: 'Start that Redis, correct REDIS_URL, or unset REDIS_URL to start a temporary Redis.',
    };
    throw new LocalRedisError('redis_unreachable', {
      message: `The Redis at REDIS_URL (${address}) does not answer: ${message}`,
      hint,
      cause: error,
    });
  }
}

/** @throws LocalRedisError that does not quote an invalid URL, because it may contain a password */
export function redactUrl(url: string): string {
  const address = readRedisAddress(url);
  if (address !== undefined) return showAddress(address);
  throw new LocalRedisError('redis_url_invalid', {
    message: 'REDIS_URL is not a valid Redis address.',
    hint: `Expected ${REDIS_ADDRESS_FORMS}.`,
  });
}
