import { ModelError, type ModelErrorKind } from '../domain/model.ts';

/** What a provider's client threw, in no client's own classes. */
export interface ProviderFailure {
  /** absent: there was no answer, or the failure came in the middle of a stream */
  readonly status?: number | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  /** may quote the request: it is searched, and never shown */
  readonly message: string;
  readonly headers?: { get(name: string): string | null } | undefined;
}

interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** what a person reads */
  readonly words: string;
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  /** in the provider's message; looked at where neither type nor status says it alone */
  readonly text?: RegExp;
}

/**
 * Real errors of the providers and what each means for a turn, most telling first: by code and type, then by status, text
 * last. A rate limit is never an overflow, whatever its text says of "too many tokens".
 */
const ERROR_TABLE: readonly ErrorRow[] = [
  { kind: 'overflow', words: 'the request is larger than the window', types: ['context_length_exceeded'] },
  {
    kind: 'fatal',
    words: 'the account has no quota left',
    types: ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached'],
  },
  {
    kind: 'retry',
    words: 'a rate limit',
    types: ['rate_limit_error', 'rate_limit_exceeded', 'tokens', 'requests'],
    statuses: [429],
  },
  {
    kind: 'retry',
    words: 'the provider is overloaded',
    types: ['overloaded_error', 'slow_down', 'engine_overloaded'],
    statuses: [529, 503],
  },
  { kind: 'overflow', words: 'the request has too many bytes', types: ['request_too_large'], statuses: [413] },
  {
    kind: 'fatal',
    words: 'the key is not accepted',
    types: ['authentication_error', 'invalid_api_key'],
    statuses: [401],
  },
  { kind: 'fatal', words: 'the key may not do this', types: ['permission_error'], statuses: [403] },
  { kind: 'fatal', words: 'no such model', types: ['not_found_error', 'model_not_found'], statuses: [404] },
  {
    kind: 'retry',
    words: 'the provider failed',
    types: ['api_error', 'server_error', 'timeout_error', 'internal_server_error', 'conflict_error'],
    statuses: [408, 409, 500, 502, 504],
  },
  {
    kind: 'overflow',
    words: 'the request is larger than the window',
    text: /prompt is too long|maximum context length|exceeds? (?:the )?context (?:window|limit|length)|context window of this model|input is too long|too many total text bytes/i,
  },
  {
    kind: 'fatal',
    words: 'the account has no credit left',
    text: /credit balance is too low|exceeded your current quota/i,
  },
  {
    kind: 'invalid',
    words: 'the form of the request',
    types: ['invalid_request_error', 'invalid_prompt'],
    statuses: [400, 422],
  },
];

const MAX_WAIT_MS = 3_600_000;
const DURATION = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Where in a request a refusal points to: a path, never contents. */
const PLACE = /\b(?:messages|input|tools|system)(?:[.[]\d+\]?)(?:[.[](?:\d+\]?|[a-z_]+))*/;

/**
 * What a failed request means for its turn.
 * @param now ms since epoch
 * @param describe the request's form, for a refusal of it
 */
export function classifyFailure(
  failure: ProviderFailure,
  now: number,
  describe: (refusal: string) => string = () => '',
): ModelError {
  const row = findRow(failure);
  if (row === undefined) return new ModelError('retry', `refused (${nameOf(failure)})`, waitOf(failure, now));
  const code = failure.code ?? failure.type;
  const place = row.kind === 'invalid' ? PLACE.exec(failure.message)?.[0] : undefined;
  const message = `${row.words} (${nameOf(failure)})${place === undefined ? '' : ` at ${place}`}`;
  const form = row.kind === 'invalid' ? describe(failure.message) : '';
  return new ModelError(row.kind, message, {
    ...(code === undefined ? {} : { code }),
    ...(form === '' ? {} : { form }),
    ...(row.kind === 'retry' ? waitOf(failure, now) : {}),
  });
}

function findRow({ status, type, code, message }: ProviderFailure): ErrorRow | undefined {
  const names = [code, type].filter((name) => name !== undefined);
  // A type as broad as `invalid_request_error` says less than its own text.
  const byName = names
    .filter((name) => name !== 'invalid_request_error')
    .map((name) => ERROR_TABLE.find((row) => row.types?.includes(name)))
    .find((row) => row !== undefined);
  if (byName !== undefined) return byName;
  const byStatus = ERROR_TABLE.find((row) => status !== undefined && row.statuses?.includes(status));
  if (byStatus !== undefined && byStatus.kind !== 'invalid') return byStatus;
  // Without a status it came in the middle of an answer: then the form was taken.
  return byText(message) ?? byStatus;
}

function byText(message: string): ErrorRow | undefined {
  return ERROR_TABLE.find(({ text }) => text?.test(message));
}

function nameOf({ status, type, code }: ProviderFailure): string {
  return [status, code ?? type].filter((part) => part !== undefined && part !== '').join(' ') || 'no status';
}

/** When the provider says to come back: in ms, in seconds, as a date, or as its limits' own durations. */
function waitOf({ headers }: ProviderFailure, now: number): { retryAt?: number } {
  const given = (name: string): string | undefined => headers?.get(name) ?? undefined;
  const waits = [
    readNumber(given('retry-after-ms')),
    readWait(given('retry-after'), now),
    readDurations(given('x-ratelimit-reset-requests'), given('x-ratelimit-reset-tokens')),
  ];
  const waitMs = waits.find((wait) => wait !== undefined);
  return waitMs === undefined ? {} : { retryAt: now + Math.min(MAX_WAIT_MS, Math.max(0, Math.ceil(waitMs))) };
}

function readNumber(text: string | undefined, unitMs = 1): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text) * unitMs;
  return Number.isFinite(value) ? value : undefined;
}

function readWait(text: string | undefined, now: number): number | undefined {
  const date = text === undefined ? Number.NaN : Date.parse(text);
  return readNumber(text, 1_000) ?? (Number.isNaN(date) ? undefined : date - now);
}

/** `6m0s`, `20ms`: of several limits the one that is free last. */
function readDurations(...texts: readonly (string | undefined)[]): number | undefined {
  const waits = texts.flatMap((text) => {
    const parts = [...(text ?? '').matchAll(DURATION)];
    return parts.length === 0
      ? []
      : [parts.reduce((sum, [, value, unit = 's']) => sum + Number(value) * (UNIT_MS[unit] ?? 0), 0)];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}
