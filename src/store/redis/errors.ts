import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { rulesFor } from '../../domain/namespace.ts';
import { findOutageCause } from './outage-causes.ts';

export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const said = describe(error);
  return findOutageCause(said) !== undefined || findTlsFault(said) !== undefined;
}

/**
 * Converts an error of Redis to an error with a code. Errors other than outages, refusals and a full Redis are returned
 * unchanged.
 */
export function nameRedisError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.message.startsWith('OOM')) {
    return new TurnfoldError(
      'redis_full',
      'Redis refuses writes, because its maxmemory is reached. This write was not made. Raise maxmemory or free memory, then repeat the call with the same ids.',
      { cause, details: { remedy: 'Raise maxmemory, or erase conversations.' } },
    );
  }
  return findDenial(cause) ?? (isOutage(cause) ? outage(cause) : cause);
}

/** Converts an error of connecting to `redis_denied` or `redis_unavailable`, even if its message is unknown. */
export function outage(cause: Error): TurnfoldError {
  const said = describe(cause);
  const fault = findTlsFault(said);
  if (fault !== undefined) return refusalError(fault, cause);
  const denial = findDenial(cause);
  if (denial !== undefined) return denial;
  const found = findOutageCause(said);
  if (found === undefined) return outageBecause('the connection to it failed', cause);
  const { words, remedy, takesNoWrites } = found;
  const details = { remedy, ...(takesNoWrites && { takesNoWrites }) };
  const what = takesNoWrites ? 'refuses writes' : 'does not answer';
  return new TurnfoldError('redis_unavailable', `Redis ${what}: ${words}`, { cause, details });
}

/** @param words cause, as half a sentence */
export function outageBecause(words: string, cause?: Error): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis does not answer: ${words}`, { cause });
}

/**
 * After this many ms without a refusal, the next refusal is reported again. Reconnects are at most about 10 s apart.
 */
const SAME_REFUSAL_MS = 30_000;

function isRefusingServer(error: Error): boolean {
  return isTurnfoldError(error, 'redis_unavailable') && error.details?.['takesNoWrites'] === true;
}

/** Reports an outage once, although ioredis emits an error at every attempt to reconnect. */
export function reportOutages(report: (error: Error) => void): {
  onError: (error: Error) => void;
  onReady: () => void;
} {
  let isAway = false;
  let refusedAt = Number.NEGATIVE_INFINITY;
  return {
    onError(error) {
      const named = nameRedisError(error) as Error;
      // A server that refuses commands accepts each new connection, so `ready` does not end this outage.
      const isSameRefusal = performance.now() - refusedAt < SAME_REFUSAL_MS;
      if (isRefusingServer(named)) refusedAt = performance.now();
      if (!isAway && !isSameRefusal) report(named);
      isAway = true;
    },
    onReady() {
      isAway = false;
    },
  };
}

/** Text for an error. If all addresses of a host refuse, Node's error has a code and no message. */
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message.includes(code) ? error.message : `${code} ${error.message}`.trim();
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return lastNodeError instanceof Error ? `${message} ${describe(lastNodeError)}` : message;
}

export interface RedisRefusal {
  readonly message: string;
  readonly hint: string;
}

export const PLAIN_PORT: RedisRefusal = {
  message: 'it speaks no TLS on this port',
  hint: 'Write redis instead of rediss in the URL, or use the port on which the server speaks TLS.',
};

export const TLS_PORT: RedisRefusal = {
  message: 'it accepts only TLS on this port',
  hint: 'Write rediss instead of redis in the URL.',
};

/** TLS errors by code or message, because the layer that reports the error decides which of the two arrives. */
const TLS_FAULTS: readonly (readonly [RegExp, RedisRefusal])[] = [
  [
    /CERT_HAS_EXPIRED|certificate has expired/,
    {
      message: 'its certificate has expired',
      hint: 'Renew the certificate of the Redis server. If it has not expired, correct the clock of this machine.',
    },
  ],
  [
    /CERT_NOT_YET_VALID|certificate is not yet valid/,
    { message: 'its certificate is not valid yet', hint: 'Correct the clocks of both machines.' },
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate's altnames/,
    {
      message: 'its certificate is for another host name than the one in the URL',
      hint: 'Use the host name of the certificate in REDIS_URL, or set REDIS_SERVER_NAME (`redisTls.serverName`) to that name.',
    },
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY)|INVALID_PURPOSE|self-signed certificate|unable to (get|verify)|unsuitable certificate/,
    {
      message: 'its certificate is not signed by a trusted authority',
      hint: 'Set REDIS_CA_FILE or REDIS_CA (`redisTls.ca`) to the certificate of the authority that signed it.',
    },
  ],
  [
    /ALERT_CERTIFICATE_REQUIRED|alert certificate required|ALERT_HANDSHAKE_FAILURE|alert handshake failure/,
    {
      message: 'it requires a client certificate',
      hint: 'Set REDIS_CERT_FILE (`redisTls.cert`) to a client certificate, and REDIS_KEY_FILE (`redisTls.key`) to its key.',
    },
  ],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)|alert (unknown ca|bad certificate|certificate|unsupported certificate|access denied)/,
    {
      message: 'it does not accept our certificate',
      hint: 'Check that REDIS_CERT (`redisTls.cert`) has not expired, and that Redis trusts its authority.',
    },
  ],
  [/WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long/, PLAIN_PORT],
];

export function findTlsFault(said: string): RedisRefusal | undefined {
  return TLS_FAULTS.find(([pattern]) => pattern.test(said))?.[1];
}

const LOGIN_DENIALS: readonly (readonly [RegExp, RedisRefusal])[] = [
  [
    /^(?=.*sentinels are unreachable).*(NOAUTH|WRONGPASS)/s,
    {
      message: 'its Sentinels refuse the password in the URL',
      hint: 'By default Sentinels get the password of the master. To send them another, append ?sentinelPassword=… to the URL.',
    },
  ],
  [
    /^(?=.*sentinels are unreachable).*DENIED/s,
    {
      message: 'its Sentinels are in protected mode (DENIED) and accept only clients on their own machine',
      hint: 'Set a password on the Sentinels (requirepass) and append ?sentinelPassword=… to the URL.',
    },
  ],
  [
    /without any password configured/,
    {
      message: 'the URL has a password, but the default user of Redis has none',
      hint: 'Remove the password from REDIS_URL (`redisUrl`), or set requirepass on the server.',
    },
  ],
  [
    /NOAUTH|HELLO must be called with the client already authenticated/,
    {
      message: 'it requires a password, but the URL has none (NOAUTH)',
      hint: 'Put the login into REDIS_URL (`redisUrl`): redis://user:password@host:port, or redis://:password@host:port.',
    },
  ],
  [
    /WRONGPASS|invalid password/,
    {
      message: 'it refuses the user name or the password in the URL (WRONGPASS)',
      hint: 'Correct the login in REDIS_URL (`redisUrl`), and check that the user is enabled on the server (ACL LIST).',
    },
  ],
];

const ALL_RULES = 'docs/how-to/secure-redis.md lists all rules that turnfold needs.';

/** Finds a refused login (NOAUTH, WRONGPASS) or a missing permission (NOPERM). */
function findDenial(cause: Error): TurnfoldError | undefined {
  const login = LOGIN_DENIALS.find(([pattern]) => pattern.test(cause.message))?.[1];
  const denial = login ?? findMissingRule(cause);
  return denial && refusalError(denial, cause, 'redis_denied');
}

type Refused = Error & { readonly command?: { readonly args?: readonly unknown[] } };

/**
 * Finds the missing ACL rule in the text. Redis writes `user` or `User name`, depending on its version, and words the
 * error differently inside a script.
 */
function findMissingRule(cause: Refused): RedisRefusal | undefined {
  const { message, command: { args = [] } = {} } = cause;
  const isInScript = /user executing the script can't|ACL failure in script/.test(message);
  if (!isInScript && !message.startsWith('NOPERM')) return undefined;
  const [, command] = /run the '([^']+)' command/.exec(message) ?? [];
  if (command !== undefined) {
    return {
      message: `its ACL does not allow our user the command ${command.replace('|', ' ').toUpperCase()} (NOPERM)`,
      hint: `Allow it: ACL SETUSER <user> +${command}. ${ALL_RULES}`,
    };
  }
  if (/channel/.test(message)) {
    return {
      message: 'its ACL does not allow our user the channels of turnfold (NOPERM)',
      hint: `Allow them: ACL SETUSER <user> ${rulesFor(args).channels}. ${ALL_RULES}`,
    };
  }
  if (/\bkeys?\b/.test(message)) {
    return {
      message: 'its ACL does not allow our user the keys of turnfold (NOPERM)',
      hint: `Allow them: ACL SETUSER <user> ${[...new Set(Object.values(rulesFor(args).keys))].join(' ')}. ${ALL_RULES}`,
    };
  }
  return {
    message: 'its ACL does not allow our user a command that a script of turnfold runs (NOPERM)',
    hint: ALL_RULES,
  };
}

/** True if a person must act before a retry can succeed. */
export function isRefusal(error: unknown): boolean {
  return isTurnfoldError(error) && (error.code === 'redis_denied' || error.details?.['isRefused'] === true);
}

export function refusalError(
  { message, hint }: RedisRefusal,
  cause?: unknown,
  code: 'redis_unavailable' | 'redis_denied' = 'redis_unavailable',
): TurnfoldError {
  const details = code === 'redis_unavailable' ? { details: { isRefused: true } } : {};
  return new TurnfoldError(code, `Redis cannot be used: ${message}. ${hint}`, { cause, ...details });
}
