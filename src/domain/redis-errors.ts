import { TurnfoldError } from './errors.ts';
import { findLoginFault, findTlsFault, refusalError } from './redis-refusal.ts';

/** What a Redis says that can be read, and takes no writes: it was demoted, its disk is full, or its replicas are missing. */
const TAKES_NO_WRITES = /READONLY|MISCONF|NOREPLICAS/;

/** What ioredis and the kernel say when there is nobody to talk to, and what a Redis says that cannot serve now. */
const UNAVAILABLE = new RegExp(
  [
    /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|Socket timeout/,
    /Connection is closed|connection close|Command timed out|max retries per request|isn't writeable/,
    /LOADING|MASTERDOWN|BUSY Redis/,
    TAKES_NO_WRITES,
    /sentinels are unreachable/,
    // of a Cluster that has lost a master and has not voted yet
    /CLUSTERDOWN|TRYAGAIN|^ASK \d|Too many Cluster redirections|Cluster isn't ready|startup nodes|slots cache|Cluster is ended/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Whether an error says that Redis is away, and nothing about the call. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const said = describe(error);
  return UNAVAILABLE.test(said) || findTlsFault(said) !== undefined;
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
  const said = describe(cause);
  const fault = findTlsFault(said) ?? findLoginFault(said);
  if (fault !== undefined) return refusalError(fault, cause);
  const what = TAKES_NO_WRITES.test(said) ? 'takes no writes' : 'does not answer';
  return new TurnfoldError('redis_unavailable', `Redis ${what}: ${said}`, { cause });
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

/** A refused connection to a name with several addresses has a code and no message; a Cluster keeps what its last node did. */
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message.includes(code) ? error.message : `${code} ${error.message}`.trim();
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return lastNodeError instanceof Error ? `${message} ${describe(lastNodeError)}` : message;
}
