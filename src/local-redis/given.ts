import { identifyServer, withConnection } from './connection.ts';
import { describeCause, LocalRedisError } from './errors.ts';
import type { LocalRedis } from './local-redis.ts';
import { isInProtectedMode, PROTECTED_MODE } from './protected-mode.ts';

const ANSWER_TIMEOUT_MS = 5_000;

/**
 * The Redis that the caller named. It is never started, stopped or replaced: whoever names one means that one, so a
 * silent fall to another source would run work against the wrong database.
 * Throws `redis_url_invalid` or `redis_unreachable`.
 */
export async function useGivenRedis(url: string): Promise<LocalRedis> {
  const address = redactUrl(url);
  try {
    const server = await withConnection(url, ANSWER_TIMEOUT_MS, identifyServer);
    return {
      url,
      source: 'given',
      description: `${server.name} ${server.version} at ${address} (REDIS_URL)`,
      stop: () => Promise.resolve(),
    };
  } catch (error) {
    const { message, hint } = (await isInProtectedMode(url))
      ? PROTECTED_MODE
      : {
          message: describeCause(error),
          hint: 'Start it, correct REDIS_URL, or unset REDIS_URL to have a Redis started here.',
        };
    throw new LocalRedisError('redis_unreachable', {
      message: `The Redis given as REDIS_URL (${address}) does not answer: ${message}`,
      hint,
      cause: error,
    });
  }
}

/** `url` as it may be shown: user, password and query (which may hold a password too) are left out. */
export function redactUrl(url: string): string {
  // Not the raw text: a mistyped address may still hold a password.
  if (!URL.canParse(url)) throw invalidUrl('it is not a URL');
  const { protocol, host, pathname, username, password } = new URL(url);
  if (protocol !== 'redis:' && protocol !== 'rediss:') throw invalidUrl('its scheme is neither redis nor rediss');
  if (host === '') throw invalidUrl('it names no host');
  return `${protocol}//${username || password ? '***@' : ''}${host}${pathname}`;
}

function invalidUrl(reason: string): LocalRedisError {
  return new LocalRedisError('redis_url_invalid', {
    message: `REDIS_URL cannot be used: ${reason}.`,
    hint: 'Write it as redis://[user:password@]host[:port][/database], or rediss:// for TLS.',
  });
}
