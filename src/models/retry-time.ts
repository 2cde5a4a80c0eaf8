/** What says when to come back: response headers, and the refusal's words where it came inside of a stream. */
export interface RetryHints {
  readonly headers?: { get(name: string): string | null } | undefined;
  readonly message: string;
  /** whether a limit was met: only then is the time of its reset a reason to wait */
  readonly isRateLimit: boolean;
}

const MAX_WAIT_MS = 3_600_000;
const DURATION = /(?<![\d.])(\d+(?:\.\d+)?) ?(ms|s|m|h|sec(?:ond)?s?|min(?:ute)?s?|hours?)(?![a-z])/gi;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** OpenAI's "try again in 1m2.5s.", Gemini's "retry in 34.07s", Azure's "retry after 26 seconds": all that a failed stream has. */
const SPOKEN = /(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?[a-z]{1,7})+)/i;

interface Limit {
  readonly remaining: string;
  readonly reset: string;
}

const LIMITS: readonly Limit[] = [
  ...['requests', 'tokens'].map((name) => ({
    remaining: `x-ratelimit-remaining-${name}`,
    reset: `x-ratelimit-reset-${name}`,
  })),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((name) => ({
    remaining: `anthropic-ratelimit-${name}-remaining`,
    reset: `anthropic-ratelimit-${name}-reset`,
  })),
];

/**
 * When a provider wants to be asked again, ms since epoch, an hour away at most; undefined where it does not say.
 * @param now ms since epoch
 */
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

/** Seconds, or a date. */
function readWait(text: string | undefined, now: number): number | undefined {
  return readNumber(text, 1_000) ?? readDate(text, now);
}

/** Not a bare number, which a parser takes for a year. */
function readDate(text: string | undefined, now: number): number | undefined {
  const date = text === undefined || readNumber(text) !== undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : date - now;
}

/** `6m0s`, `20ms`, `26 seconds`. */
function readDuration(text: string | undefined): number | undefined {
  const parts = [...(text ?? '').matchAll(DURATION)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, value, unit = 's']) => sum + Number(value) * msOf(unit.toLowerCase()), 0);
}

function msOf(unit: string): number {
  return UNIT_MS[unit] ?? UNIT_MS[unit.charAt(0)] ?? 0;
}

/** Of the limits that have nothing left, or do not say, the one that is free last. */
function readReset(given: (name: string) => string | undefined, now: number): number | undefined {
  const waits = LIMITS.filter(({ remaining }) => (readNumber(given(remaining)) ?? 0) <= 0)
    .map(({ reset }) => readDuration(given(reset)) ?? readDate(given(reset), now))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}
