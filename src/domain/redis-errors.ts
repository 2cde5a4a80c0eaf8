import { isTurnfoldError, TurnfoldError } from './errors.ts';
import { findDenial, findTlsFault, refusalError } from './redis-refusal.ts';

/**
 * Errors of the network, of ioredis and of Redis that say that Redis is away, each with our words for it. The first that fits
 * counts, so the network stands before what ioredis makes of it. Callers see our words only: those of a library change.
 */
const OUTAGES: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/ECONNREFUSED/, 'nothing accepts connections there (ECONNREFUSED)'],
  [/ENOTFOUND/, 'the host name of its address is unknown (ENOTFOUND)'],
  [/EAI_AGAIN/, 'the host name of its address cannot be looked up now (EAI_AGAIN)'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no route to its host (EHOSTUNREACH)'],
  [/LOADING/, 'it is loading its data (LOADING)'],
  [/BUSY Redis/, 'a script keeps it busy (BUSY)'],
  [/MASTERDOWN/, 'it is a replica that has lost its master (MASTERDOWN)'],
  [/UNBLOCKED/, 'it changed its role meanwhile (UNBLOCKED)'],
  [/sentinels are unreachable/, 'no Sentinel names a master'],
  [/CLUSTERDOWN/, 'the Cluster does not serve now (CLUSTERDOWN)'],
  [
    /TRYAGAIN|^ASK \d|Too many Cluster redirections|startup nodes|slots cache|Cluster isn't ready|No master node/,
    'no node of the Cluster answers for these keys',
  ],
  [/ETIMEDOUT|Socket timeout|Command timed out/, 'there was no answer in time'],
  [/ECONN|EPIPE|connection close|connection ended/i, 'the connection was lost'],
  [
    /Connection is closed|isn't writeable|max retries per request|(Cluster|Node) is (ended|disconnect)/,
    'there is no connection to it',
  ],
];

/** Errors of a Redis that can be read and takes no writes. */
const READ_ONLY: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/READONLY/, 'it is a replica (READONLY)'],
  [/MISCONF/, 'it cannot save to its disk (MISCONF)'],
  [/NOREPLICAS/, 'fewer replicas are connected than its min-replicas-to-write asks for (NOREPLICAS)'],
];

/** Whether an error says that Redis is away, and nothing about the call. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const said = describe(error);
  return findWords([...READ_ONLY, ...OUTAGES], said) !== undefined || findTlsFault(said) !== undefined;
}

/**
 * Names the failure of a call to Redis: `redis_full`, `redis_denied`, `redis_unavailable`, or the error itself where it is none
 * of these.
 */
export function nameRedisError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.message.startsWith('OOM')) {
    return new TurnfoldError(
      'redis_full',
      'Redis refuses writes: its maxmemory is reached. Raise it or free memory; nothing was written.',
      { cause },
    );
  }
  return findDenial(cause) ?? (isOutage(cause) ? outage(cause) : cause);
}

/** The code of a named error that says that Redis answers and takes no writes now; nothing was written. Undefined: another error. */
export function findWriteRefusal(error: unknown): 'redis_full' | 'redis_unavailable' | undefined {
  if (isTurnfoldError(error, 'redis_full')) return 'redis_full';
  if (!isTurnfoldError(error, 'redis_unavailable')) return undefined;
  const { cause } = error;
  return cause instanceof Error && findWords(READ_ONLY, cause.message) !== undefined ? 'redis_unavailable' : undefined;
}

/** A failure that is an outage whatever it says, because nothing could even be asked; or a denial that it tells of. */
export function outage(cause: Error): TurnfoldError {
  const said = describe(cause);
  const fault = findTlsFault(said);
  if (fault !== undefined) return refusalError(fault, cause);
  const denial = findDenial(cause);
  if (denial !== undefined) return denial;
  const readOnly = findWords(READ_ONLY, said);
  if (readOnly !== undefined) return unavailable('takes no writes', readOnly, cause);
  return unavailable('does not answer', findWords(OUTAGES, said) ?? 'the connection to it failed', cause);
}

/** An outage that we found out ourselves. @param words why, as half a sentence */
export function outageBecause(words: string): TurnfoldError {
  return unavailable('does not answer', words);
}

function unavailable(what: string, words: string, cause?: Error): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis ${what}: ${words}`, { cause });
}

function findWords(table: readonly (readonly [RegExp, string])[], said: string): string | undefined {
  const found = table.find(([pattern]) => pattern.test(said));
  if (found === undefined) return undefined;
  const [, words] = found;
  // The address says which of several servers it was. Node writes it behind the code of the failed call.
  const [, address] = /\bE[A-Z]+ (\S+:\d+)$/.exec(said) ?? [];
  return address === undefined ? words : `${words} at ${address}`;
}

/**
 * Tells of an outage once, at its first error; ioredis emits one at every attempt to come back. Other errors are reported by
 * their names, once too.
 * @returns what to call with each error, and once the connection is ready again
 */
export function reportOutages(report: (error: Error) => void): {
  onError: (error: Error) => void;
  onReady: () => void;
} {
  let isAway = false;
  return {
    onError(error) {
      if (!isAway) report(nameRedisError(error) as Error);
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
