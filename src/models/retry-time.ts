/** What says when to come back: response headers, and the refusal's words where it came inside of a stream. */
export interface RetryHints {
  readonly headers?: { get(name: string): string | null } | undefined;
  readonly message: string;
  /** whether a limit was met: only then is the time of its reset a reason to wait */
  readonly isRateLimit: boolean;
}

const MAX_WAIT_MS = 3_600_000;
const DURATION = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** OpenAI's "Please try again in 18.642s.": all that a failed stream has. */
const SPOKEN = /try again in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)/i;

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
    (isRateLimit ? latest(given('x-ratelimit-reset-requests'), given('x-ratelimit-reset-tokens')) : undefined);
  return waitMs === undefined ? undefined : now + Math.min(MAX_WAIT_MS, Math.max(0, Math.ceil(waitMs)));
}

function readNumber(text: string | undefined, unitMs = 1): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text) * unitMs;
  return Number.isFinite(value) ? value : undefined;
}

/** Seconds, or a date. */
function readWait(text: string | undefined, now: number): number | undefined {
  const date = text === undefined ? Number.NaN : Date.parse(text);
  return readNumber(text, 1_000) ?? (Number.isNaN(date) ? undefined : date - now);
}

/** `6m0s`, `20ms`. */
function readDuration(text: string | undefined): number | undefined {
  const parts = [...(text ?? '').matchAll(DURATION)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, value, unit = 's']) => sum + Number(value) * (UNIT_MS[unit] ?? 0), 0);
}

/** Which of several limits was met is not said: the one that is free last. */
function latest(...texts: readonly (string | undefined)[]): number | undefined {
  const waits = texts.map(readDuration).filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}
