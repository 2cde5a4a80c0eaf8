import { TurnfoldError } from './errors.ts';

/** What ioredis and the kernel say when there is nobody to talk to, and what a Redis says that cannot serve now. */
const UNAVAILABLE =
  /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|Connection is closed|Command timed out|max retries per request|isn't writeable|LOADING|MASTERDOWN|CLUSTERDOWN|READONLY/;

/** Whether an error says that Redis is away, and nothing about the call. */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && UNAVAILABLE.test(describe(error));
}

/** Names the failure of a call to Redis: `redis_full`, `redis_unavailable`, or the error itself where it is neither. */
export function nameRedisError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.message.startsWith('OOM')) {
    return new TurnfoldError(
      'redis_full',
      'Redis refuses writes: its maxmemory is reached. Raise it or free memory; nothing was written.',
      { cause },
    );
  }
  return isOutage(cause) ? outage(cause) : cause;
}

/** A failure that is an outage whatever it says, because nothing could even be asked. */
export function outage(cause: Error): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis does not answer: ${describe(cause)}`, { cause });
}

/**
 * Tells of an outage once, at its first error; ioredis emits one at every attempt to come back. What says nothing of an
 * outage, a refused password for one, is told as it is.
 * @returns what to call with each error, and once the connection is ready again
 */
export function reportOutages(report: (error: Error) => void): {
  onError: (error: Error) => void;
  onReady: () => void;
} {
  let isAway = false;
  return {
    onError(error) {
      if (!isAway) report(isOutage(error) ? outage(error) : error);
      isAway = true;
    },
    onReady() {
      isAway = false;
    },
  };
}

/** A refused connection to a name with several addresses has a code and no message. */
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return error.message.includes(code) ? error.message : `${code} ${error.message}`.trim();
}
