export interface ResponseHeaders {
  get(name: string): string | null;
}

interface RetryHints {
  readonly headers?: ResponseHeaders | undefined;
  readonly message: string;
  /** True if the provider refused because of a rate limit. Only then do headers with reset times count. */
  readonly isRateLimit: boolean;
}

const MAX_WAIT_MS = 3_600_000;
const DURATION = /(?<![\d.])(\d+(?:\.\d+)?) ?(ms|s|m|h|sec(?:ond)?s?|min(?:ute)?s?|hours?)(?![a-z])/gi;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** OpenAI: "try again in 1m2.5s.", Gemini: "retry in 34.07s", Azure: "retry after 26 seconds". */
const SPOKEN = /(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?[a-z]{1,7})+)/i;

interface Limit {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

const LIMITS: readonly Limit[] = [
  ...['requests', 'tokens'].map((name) => ({
    limit: `x-ratelimit-limit-${name}`,
    remaining: `x-ratelimit-remaining-${name}`,
    reset: `x-ratelimit-reset-${name}`,
  })),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((name) => ({
    limit: `anthropic-ratelimit-${name}-limit`,
    remaining: `anthropic-ratelimit-${name}-remaining`,
    reset: `anthropic-ratelimit-${name}-reset`,
  })),
];

/** Returns ms since epoch, at most an hour from now. Undefined if the provider names no time. */
export function readRetryAt({ headers, message, isRateLimit }: RetryHints, now: number): number | undefined {
  const given = (name: string): string | undefined => headers?.get(name) ?? undefined;
  const waitMs =
    readNumber(given('retry-after-ms')) ??
    readWait(given('retry-after'), now) ??
    readDuration(SPOKEN.exec(message)?.[1]) ??
    (isRateLimit ? readReset(given, now) : undefined);
  return waitMs === undefined ? undefined : now + Math.min(MAX_WAIT_MS, Math.max(0, Math.ceil(waitMs)));
}

function readNumber(text: string | undefined, unitMs = 1): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text) * unitMs;
  return Number.isFinite(value) ? value : undefined;
}

function readWait(text: string | undefined, now: number): number | undefined {
  return readNumber(text, 1_000) ?? readDate(text, now);
}

/** A bare number is no date, although `Date.parse` would read it as a year. */
function readDate(text: string | undefined, now: number): number | undefined {
  const date = text === undefined || readNumber(text) !== undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : date - now;
}

function readTime(text: string | undefined, now: number): number | undefined {
  return readDuration(text) ?? readDate(text, now);
}

function readDuration(text: string | undefined): number | undefined {
  const parts = [...(text ?? '').matchAll(DURATION)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, value, unit = 's']) => sum + Number(value) * msOf(unit.toLowerCase()), 0);
}

function msOf(unit: string): number {
  return UNIT_MS[unit] ?? UNIT_MS[unit.charAt(0)] ?? 0;
}

/**
 * Returns ms since epoch before which the provider would refuse the next call, because the account has no call left.
 * Most providers give calls back one by one, so the wait is one call's share of the time until the reset. Token limits
 * do not count: the next call may need few tokens.
 */
export function readNextCallAt(headers: ResponseHeaders, now: number): number | undefined {
  const given = (name: string): string | undefined => headers.get(name) ?? undefined;
  const waits = LIMITS.filter(
    ({ remaining }) => remaining.includes('requests') && readNumber(given(remaining)) === 0,
  ).map(({ limit, reset }) => (readTime(given(reset), now) ?? 0) / Math.max(1, readNumber(given(limit)) ?? 1));
  const waitMs = Math.ceil(Math.max(0, ...waits));
  return waitMs === 0 ? undefined : now + Math.min(MAX_WAIT_MS, waitMs);
}

/** The latest reset among limits that are used up, or whose remaining calls are unknown. */
function readReset(given: (name: string) => string | undefined, now: number): number | undefined {
  const waits = LIMITS.filter(({ remaining }) => (readNumber(given(remaining)) ?? 0) <= 0)
    .map(({ reset }) => readTime(given(reset), now))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}
