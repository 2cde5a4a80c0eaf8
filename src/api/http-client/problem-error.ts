import { type ErrorCode, isErrorCode, TurnfoldError } from '../../domain/errors.ts';
import { isMapping } from '../../domain/parse.ts';

/** Codes of a server that a client over Redis never gets, and the codes that callers get instead. */
const REQUEST_CODES: ReadonlyMap<string, ErrorCode> = new Map(
  Object.entries<ErrorCode>({
    unauthorized: 'access_denied',
    forbidden: 'access_denied',
    no_route: 'invalid_config',
    method_not_allowed: 'invalid_config',
    unsupported_media_type: 'invalid_config',
    not_offered: 'invalid_config',
    waiting: 'conflict',
    key_reused: 'conflict',
    body_too_large: 'message_too_large',
    headers_too_large: 'invalid_input',
    request_timeout: 'server_unavailable',
    too_many_readers: 'server_unavailable',
    defect: 'server_unavailable',
  }),
);

/** Option that is wrong if an error names no field. */
const FIELDS: Partial<Record<ErrorCode, string>> = { access_denied: 'key', invalid_config: 'url' };
const HEADERS: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({ authorization: 'key', 'last-event-id': 'after' }),
);

/** HTTP statuses after which the same request may succeed. */
const PASSING_STATUSES = new Set([408, 429, 502, 503, 504]);

export function readProblem(status: number, body: unknown): TurnfoldError {
  if (!isMapping(body) || typeof body['code'] !== 'string') return describeForeign(status);
  const { code: given, detail, field: named, details } = body;
  const code = isErrorCode(given) ? given : (REQUEST_CODES.get(given) ?? codeOf(status));
  const field = typeof named === 'string' ? (HEADERS.get(named) ?? named) : FIELDS[code];
  return new TurnfoldError(code, typeof detail === 'string' ? detail : `the server answered ${status} ${given}`, {
    ...(field !== undefined && { field: code === 'invalid_config' ? 'url' : field }),
    ...(isMapping(details) && { details }),
  });
}

/** For an answer of a proxy in front of turnfold, or of another server. */
function describeForeign(status: number): TurnfoldError {
  const code = codeOf(status);
  const why =
    code === 'invalid_config'
      ? `the server at this address answered with the status ${status}, but not as turnfold does. Check the address`
      : `a server in front of turnfold answered with the status ${status}`;
  const field = FIELDS[code];
  const message = field === undefined ? why : `${field}: ${why}`;
  return new TurnfoldError(code, message, { ...(field !== undefined && { field }), details: { status } });
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'access_denied';
  if (status === 413) return 'message_too_large';
  return status >= 500 || PASSING_STATUSES.has(status) ? 'server_unavailable' : 'invalid_config';
}

/** True if the request is retried. `mailbox_full` has status 429, but a client over Redis throws it at once, too. */
export function isPassing(status: number, error: TurnfoldError): boolean {
  const { code, details } = error;
  if (code === 'redis_unavailable') return details?.['takesNoWrites'] !== true && details?.['isRefused'] !== true;
  return code === 'server_unavailable' && PASSING_STATUSES.has(status);
}
