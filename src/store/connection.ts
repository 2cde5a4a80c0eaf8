import { Redis } from 'ioredis';
import { TurnfoldError } from '../domain/errors.ts';

export interface ConnectionOptions {
  readonly url: string;
  /** ms until a command without an answer fails; workers wait, clients do not */
  readonly commandTimeoutMs?: number;
  /** fail at once while Redis is away, instead of queueing commands until it is back */
  readonly failsFast?: boolean;
  readonly onError?: (error: Error) => void;
}

/** Opens a connection for scripts. Commands that were sent and not answered are sent again: every script is idempotent. */
export function openConnection(options: ConnectionOptions): Redis {
  const { failsFast = false } = options;
  const redis = new Redis(options.url, {
    enableAutoPipelining: true,
    // Failing fast, the opener connects itself and hears whether that failed.
    lazyConnect: failsFast,
    maxRetriesPerRequest: failsFast ? 0 : null,
    enableOfflineQueue: !failsFast,
    connectTimeout: options.commandTimeoutMs ?? 5_000,
    retryStrategy: (times) => Math.min(50 * times, 1_000),
    ...(options.commandTimeoutMs === undefined ? {} : { commandTimeout: options.commandTimeoutMs }),
  });
  redis.on('error', (error: Error) => options.onError?.(error));
  return redis;
}

/** Runs a Redis call and names its failure: `redis_full`, `redis_unavailable`, or the error itself where it is ours. */
export async function callRedis<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw nameRedisError(cause);
  }
}

const UNAVAILABLE =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|Connection is closed|Command timed out|max retries per request|isn't writeable|LOADING|MASTERDOWN|CLUSTERDOWN|READONLY/i;

function nameRedisError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.message.startsWith('OOM')) {
    return new TurnfoldError(
      'redis_full',
      'Redis refuses writes: its maxmemory is reached. Raise it or free memory; nothing was written.',
      { cause },
    );
  }
  if (UNAVAILABLE.test(`${cause.name} ${cause.message}`)) {
    return new TurnfoldError('redis_unavailable', `Redis does not answer: ${cause.message}`, { cause });
  }
  return cause;
}
