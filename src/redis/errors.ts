import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';

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

/** A failure that is an outage whatever it says, because nothing could even be asked; or a denial that it tells of. */
export function outage(cause: Error): TurnfoldError {
  const said = describe(cause);
  const fault = findTlsFault(said);
  if (fault !== undefined) return refusalError(fault, cause);
  const denial = findDenial(cause);
  if (denial !== undefined) return denial;
  const readOnly = findWords(READ_ONLY, said);
  if (readOnly !== undefined) {
    const message = `Redis takes no writes: ${readOnly}`;
    return new TurnfoldError('redis_unavailable', message, { cause, details: { takesNoWrites: true } });
  }
  return outageBecause(findWords(OUTAGES, said) ?? 'the connection to it failed', cause);
}

/** An outage that we found out ourselves. @param words why, as half a sentence */
export function outageBecause(words: string, cause?: Error): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis does not answer: ${words}`, { cause });
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

/** A Redis that is there, and no use to us before somebody does something. For people. */
export interface RedisRefusal {
  /** why, as half a sentence */
  readonly message: string;
  /** what to do */
  readonly hint: string;
}

export const PLAIN_PORT: RedisRefusal = {
  message: 'it speaks no TLS on this port',
  hint: 'Write redis instead of rediss into the address, or the port that takes TLS.',
};

export const TLS_PORT: RedisRefusal = {
  message: 'it speaks TLS on this port, and nothing else',
  hint: 'Write rediss instead of redis into the address.',
};

/** By what Node and OpenSSL say; which of code and text reaches us depends on who passes it on. */
const TLS_FAULTS: readonly (readonly [RegExp, RedisRefusal])[] = [
  [
    /CERT_HAS_EXPIRED|certificate has expired/,
    {
      message: 'its certificate has expired',
      hint: 'Renew it there; if it has not, look at the clock of this machine.',
    },
  ],
  [
    /CERT_NOT_YET_VALID|certificate is not yet valid/,
    { message: 'its certificate is not valid yet', hint: 'Look at the clocks of both machines.' },
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate's altnames/,
    {
      message: 'its certificate is for another name than that of the address',
      hint: 'Write the name that it is for into the address, or into REDIS_SERVER_NAME (`redisTls.serverName`).',
    },
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY)|INVALID_PURPOSE|self-signed certificate|unable to (get|verify)|unsuitable certificate/,
    {
      message: 'its certificate is signed by nobody whom we trust',
      hint: 'Name who signed it: REDIS_CA_FILE, or REDIS_CA (`redisTls.ca`).',
    },
  ],
  [
    /ALERT_CERTIFICATE_REQUIRED|alert certificate required|ALERT_HANDSHAKE_FAILURE|alert handshake failure/,
    {
      message: 'it asks for a certificate of ours',
      hint: 'Name one, and its key: REDIS_CERT_FILE and REDIS_KEY_FILE (`redisTls.cert`, `redisTls.key`).',
    },
  ],
  [
    /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)|alert (unknown ca|bad certificate|certificate|unsupported certificate|access denied)/,
    {
      message: 'it does not take our certificate',
      hint: 'See that REDIS_CERT (`redisTls.cert`) has not expired, and that Redis trusts who signed it.',
    },
  ],
  [/WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long/, PLAIN_PORT],
];

/** What keeps us from TLS, by what an error says; undefined where it says nothing of that. */
export function findTlsFault(said: string): RedisRefusal | undefined {
  return TLS_FAULTS.find(([pattern]) => pattern.test(said))?.[1];
}

/** The keys and channels of turnfold, as an ACL of Redis names them. */
const KEY_RULES = '~{tf* ~{tq*';
const CHANNEL_RULES = '&{tf*';

/** Errors of Redis that refuse a login. Waiting does not help: somebody has to change the address or the server. */
const LOGIN_DENIALS: readonly (readonly [RegExp, RedisRefusal])[] = [
  [
    /^(?=.*sentinels are unreachable).*(NOAUTH|WRONGPASS)/s,
    {
      message: 'its Sentinels refuse the password',
      hint: 'Sentinels get the password of the address. Append ?sentinelPassword=… to the address to use another.',
    },
  ],
  [
    /^(?=.*sentinels are unreachable).*DENIED/s,
    {
      message: 'its Sentinels are in protected mode (DENIED) and accept clients of their own machine only',
      hint: 'Set a password there (requirepass) and append ?sentinelPassword=… to the address.',
    },
  ],
  [
    /without any password configured/,
    {
      message: 'the address has a password, and Redis has none configured for its default user',
      hint: 'Remove the password from REDIS_URL (`redisUrl`), or set requirepass on the server.',
    },
  ],
  [
    /NOAUTH|HELLO must be called with the client already authenticated/,
    {
      message: 'it asks for a password, and the address has none (NOAUTH)',
      hint: 'Put the login into REDIS_URL (`redisUrl`): redis://user:password@host:port, or redis://:password@host:port.',
    },
  ],
  [
    /WRONGPASS|invalid password/,
    {
      message: 'it refuses the user name or the password of the address (WRONGPASS)',
      hint: 'Correct the login in REDIS_URL (`redisUrl`), and see that its user is enabled (ACL LIST).',
    },
  ],
];

const ALL_RULES = 'docs/operations.md lists all rules that turnfold needs.';

/**
 * The error of a Redis that refuses our login (NOAUTH, WRONGPASS) or something that our user may not do (NOPERM); undefined
 * where the error says neither.
 */
function findDenial(cause: Error): TurnfoldError | undefined {
  const login = LOGIN_DENIALS.find(([pattern]) => pattern.test(cause.message))?.[1];
  const denial = login ?? findMissingRule(cause);
  return denial && refusalError(denial, cause, 'redis_denied');
}

/** Redis says `user` in one version and `User name` in another, and has other words inside a script. */
function findMissingRule({ message }: Error): RedisRefusal | undefined {
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
      hint: `Allow them: ACL SETUSER <user> ${CHANNEL_RULES}. ${ALL_RULES}`,
    };
  }
  if (/\bkeys?\b/.test(message)) {
    return {
      message: 'its ACL does not allow our user the keys of turnfold (NOPERM)',
      hint: `Allow them: ACL SETUSER <user> ${KEY_RULES}. ${ALL_RULES}`,
    };
  }
  return {
    message: 'its ACL does not allow our user a command that a script of turnfold runs (NOPERM)',
    hint: ALL_RULES,
  };
}

/** Waiting does not help, whatever the code: somebody has to do something first. */
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
