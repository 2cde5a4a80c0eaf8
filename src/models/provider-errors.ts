import type { Message } from '../domain/message.ts';
import { ModelError, type ModelRequest } from '../domain/model.ts';
import { readRawItems } from '../domain/raw-items.ts';
import { isThinking } from '../wire/raw-items.ts';
import { ERROR_TABLE, type ErrorRow } from './error-table.ts';

/** What a provider's client threw, in no client's own classes. */
export interface ProviderFailure {
  /** absent: there was no answer, or the failure came in the middle of a stream */
  readonly status?: number | undefined;
  /** as they came: compatible servers send numbers as well, and anything else */
  readonly type?: unknown;
  readonly code?: unknown;
  /** may quote the request: it is searched, and never shown */
  readonly message: string;
  readonly headers?: { get(name: string): string | null } | undefined;
}

/** An identifier, or GLM's four digits; whatever else stands in its place could be contents, or a key. */
const NAME = /^(?:[a-z][\w.-]{0,63}|\d{4})$/i;
/** So broad a type or status says less than its own text. */
const BROAD_NAME = 'invalid_request_error';
const BROAD_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404, 422]);
const STATUS = /^[45]\d\d$/;
/** Searched of a refusal. Providers begin with what was wrong; some go on with the whole request. */
const SEARCHED_CHARS = 16_384;
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
  const { headers } = failure;
  const message = failure.message.slice(0, SEARCHED_CHARS);
  const status = failure.status ?? readStatus(failure.code);
  const names = [failure.code, failure.type].filter((name): name is string => isName(name));
  const { kind, words, isOfThinking } = findRow({ status, message }, names) ?? unknownFailure(status);
  const [code] = names;
  const place = kind === 'retry' ? undefined : PLACE.exec(message)?.[0];
  const retryAt = kind === 'retry' ? readRetryAt({ headers, message, isRateLimit: status === 429 }, now) : undefined;
  const form = kind === 'invalid' ? describe(message) : '';
  const signs = [status, code].filter((sign) => sign !== undefined).join(' ');
  const Failure = isOfThinking === true ? ThinkingRefused : ModelError;
  return new Failure(kind, `${words}${signs === '' ? '' : ` (${signs})`}${place === undefined ? '' : ` at ${place}`}`, {
    ...(code === undefined ? {} : { code }),
    ...(form === '' ? {} : { form }),
    ...(retryAt === undefined ? {} : { retryAt }),
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** Inside of a stream, which has no status of its own: OpenRouter's code is one. */
function readStatus(code: unknown): number | undefined {
  return (typeof code === 'number' || typeof code === 'string') && STATUS.test(String(code)) ? Number(code) : undefined;
}

/** By code, by type, by status; text last, and only where those leave it open. */
function findRow(
  { status, message }: Pick<ProviderFailure, 'status' | 'message'>,
  names: readonly string[],
): ErrorRow | undefined {
  const byName = names
    .filter((name) => name !== BROAD_NAME)
    .map((name) => ERROR_TABLE.find(({ types }) => types?.includes(name)))
    .find((row) => row !== undefined);
  if (byName !== undefined) return byName;
  const byStatus = ERROR_TABLE.find(({ statuses }) => status !== undefined && statuses?.includes(status));
  if (byStatus !== undefined && !BROAD_STATUSES.has(status)) return byStatus;
  return ERROR_TABLE.find(({ texts }) => texts?.some((text) => text.test(message))) ?? byStatus;
}

/** Without a status the form was taken, and the answer did not come through. */
function unknownFailure(status: number | undefined): ErrorRow {
  if (status === undefined) return { kind: 'retry', words: 'no whole answer' };
  return status >= 400 && status < 500
    ? { kind: 'fatal', words: 'the provider refuses' }
    : { kind: 'retry', words: 'the provider failed' };
}

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
function readRetryAt({ headers, message, isRateLimit }: RetryHints, now: number): number | undefined {
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

/** The provider does not know its own thinking any more: a key of its own has changed, or the history came from elsewhere. */
class ThinkingRefused extends ModelError {}

/**
 * Asks once more, without any thinking of the history, where the provider refuses what it is sent back of it. Left to the turn,
 * such a refusal would stand at the end of its conversation: there is nothing to roll back where no pass made the version.
 * @throws what the second try was refused with
 */
export async function mendThinking<Request extends ModelRequest, Answer>(
  request: Request,
  ask: (request: Request) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(request);
  } catch (error) {
    if (!(error instanceof ThinkingRefused)) throw error;
    const messages = request.messages.map(withoutThinking);
    if (messages.every((message, index) => message === request.messages[index])) throw error;
    return await ask({ ...request, messages });
  }
}

/** The same message where it holds none. By hand: what was imported has no version that could tell it from another's. */
function withoutThinking(message: Message): Message {
  const raw = readRawItems(message);
  if (raw === undefined || !raw.items.some(isThinking)) return message;
  return { ...message, raw: { ...raw, items: raw.items.filter((item) => !isThinking(item)) } };
}
