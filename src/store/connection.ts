import { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';
import { nameRedisError, reportOutages } from '../domain/redis-errors.ts';

export interface ConnectionOptions {
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
  const { failsFast = false } = options;
  checkAddress(options.url);
  const redis = new Redis(options.url, {
    enableAutoPipelining: true,
    // Failing fast, the opener connects itself and hears whether that failed.
    lazyConnect: failsFast,
    maxRetriesPerRequest: failsFast ? 0 : null,
    enableOfflineQueue: !failsFast,
    // A connection that is away has nothing to finish, and ioredis would keep the process alive for two seconds.
    disconnectTimeout: 100,
    connectTimeout: options.commandTimeoutMs ?? 5_000,
    retryStrategy: (times) => Math.min(50 * times, 1_000),
    ...(options.commandTimeoutMs === undefined ? {} : { commandTimeout: options.commandTimeoutMs }),
  });
  const outages = reportOutages((error) => options.onError?.(error));
  redis.on('error', outages.onError);
  redis.on('ready', outages.onReady);
  return redis;
}

/** The address may hold a password: the error of whoever parses it would quote it. */
function checkAddress(url: string): void {
  if (URL.canParse(url) && /^(\/\d*)?$/.test(new URL(url).pathname)) return;
  const field = 'redisUrl';
  throw new TurnfoldError('invalid_config', `${field}: must be redis://[user:password@]host[:port][/database]`, {
    field,
  });
}

/** Runs a Redis call and names its failure: `redis_full`, `redis_unavailable`, or the error itself where it is ours. */
export async function callRedis<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw nameRedisError(cause);
  }
}
