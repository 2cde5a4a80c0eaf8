import { TurnfoldError } from '../domain/errors.ts';

/** What ioredis and the kernel say when there is nobody to talk to, and what a Redis says that cannot serve now. */
const UNAVAILABLE =
  /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|Connection is closed|max retries per request|isn't writeable|LOADING|MASTERDOWN|CLUSTERDOWN|READONLY/;

/** Whether an error says that Redis is away, and nothing about the call. */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && UNAVAILABLE.test(describe(error));
}

/** Names the failure of a call to Redis: `redis_full`, `redis_unavailable`, or the error itself where it is neither. */
export function nameRedisError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.message.startsWith('OOM')) {
    return new TurnfoldError('redis_full', 'Redis refuses writes: its maxmemory is reached. Nothing was written.', {
      cause,
    });
  }
  return isOutage(cause) ? outage(cause) : cause;
}

export function outage(cause: Error): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis does not answer: ${describe(cause)}`, { cause });
}

/** A refused connection to a name with several addresses has a code and no message. */
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return error.message.includes(code) ? error.message : `${code} ${error.message}`.trim();
}
