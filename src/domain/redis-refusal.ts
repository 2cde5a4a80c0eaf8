import { TurnfoldError } from './errors.ts';

/** A Redis that is there, and no use to us before somebody does something. For people. */
export interface Refusal {
  /** why, as half a sentence */
  readonly message: string;
  /** what to do */
  readonly hint: string;
}

export const PLAIN_PORT: Refusal = {
  message: 'it speaks no TLS on this port',
  hint: 'Write redis instead of rediss into the address, or the port that takes TLS.',
};

export const TLS_PORT: Refusal = {
  message: 'it speaks TLS on this port, and nothing else',
  hint: 'Write rediss instead of redis into the address.',
};

const SENTINEL_LOGIN: Refusal = {
  message: 'its Sentinels do not take the password',
  hint: 'They are told that of the address; one of their own goes behind it: /master?sentinelPassword=….',
};

/** By what Node and OpenSSL say; which of code and text reaches us depends on who passes it on. */
const TLS_FAULTS: readonly (readonly [RegExp, Refusal])[] = [
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
export function findTlsFault(said: string): Refusal | undefined {
  return TLS_FAULTS.find(([pattern]) => pattern.test(said))?.[1];
}

/** What Sentinels say of a login, by what ioredis says of them. Of a server's own the error says enough. */
export function findLoginFault(said: string): Refusal | undefined {
  return /sentinels are unreachable.*(NOAUTH|WRONGPASS)/s.test(said) ? SENTINEL_LOGIN : undefined;
}

export function refusalError({ message, hint }: Refusal, cause?: unknown): TurnfoldError {
  return new TurnfoldError('redis_unavailable', `Redis cannot be used: ${message}. ${hint}`, { cause });
}
