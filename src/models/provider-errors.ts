import type { Message } from '../domain/message.ts';
import { ModelError, type ModelRequest } from '../domain/model.ts';
import { readRawItems } from '../domain/raw-items.ts';
import { isThinking } from '../wire/raw-items.ts';
import { ERROR_TABLE, type ErrorRow } from './error-table.ts';

export interface ProviderFailure {
  /** Absent if no response came, or if the failure came inside a stream. */
  readonly status?: number | undefined;
  /** Unchecked: compatible servers also send numbers and other values. */
  readonly type?: unknown;
  readonly code?: unknown;
  /** The message may quote the request, so it is matched but never shown. */
  readonly message: string;
  readonly headers?: { get(name: string): string | null } | undefined;
}

/** Matches an identifier, or GLM's four digits. Any other value could hold contents or a key, and is not shown. */
const NAME = /^(?:[a-z][\w.-]{0,63}|\d{4})$/i;
/** Type and statuses that say less about a failure than its message. */
const BROAD_NAME = 'invalid_request_error';
const BROAD_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404, 422]);
const STATUS = /^[45]\d\d$/;
/** Number of characters of a message that are matched. Some providers quote the whole request behind the error. */
const SEARCHED_CHARS = 16_384;
/** Matches the path in the request that a refusal names. */
const PLACE = /\b(?:messages|input|tools|system)(?:[.[]\d+\]?)(?:[.[](?:\d+\]?|[a-z_]+))*/;

/**
 * Classifies a failed request.
 * @param now ms since epoch
 * @param describe describes the request's structure, for a refusal of it
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
  const Failure = isOfThinking === true ? ThinkingRefusedError : ModelError;
  return new Failure(kind, `${words}${signs === '' ? '' : ` (${signs})`}${place === undefined ? '' : ` at ${place}`}`, {
    ...(code === undefined ? {} : { code }),
    ...(form === '' ? {} : { form }),
    ...(retryAt === undefined ? {} : { retryAt }),
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** Inside a stream, OpenRouter sends the status as its code. */
function readStatus(code: unknown): number | undefined {
  return (typeof code === 'number' || typeof code === 'string') && STATUS.test(String(code)) ? Number(code) : undefined;
}

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

/** A failure without a status means that the provider accepted the request and the answer was lost on the way. */
function unknownFailure(status: number | undefined): ErrorRow {
  if (status === undefined) return { kind: 'retry', words: 'the answer did not arrive completely' };
  return status >= 400 && status < 500
    ? { kind: 'fatal', words: 'the provider refused the request' }
    : { kind: 'retry', words: 'the provider failed' };
}

/** A retry time stands in the headers, or in the message of a failure inside a stream. */
export interface RetryHints {
  readonly headers?: { get(name: string): string | null } | undefined;
  readonly message: string;
  /** The reset time of a limit matters only if the limit caused the failure. */
  readonly isRateLimit: boolean;
}

const MAX_WAIT_MS = 3_600_000;
const DURATION = /(?<![\d.])(\d+(?:\.\d+)?) ?(ms|s|m|h|sec(?:ond)?s?|min(?:ute)?s?|hours?)(?![a-z])/gi;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/**
 * Wait times in messages: OpenAI's "try again in 1m2.5s.", Gemini's "retry in 34.07s", Azure's "retry after 26
 * seconds".
 */
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
 * Time of the next attempt that the provider asks for, at most an hour away.
 * @param now ms since epoch
 * @returns ms since epoch, or undefined if the provider names no time
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

function readWait(text: string | undefined, now: number): number | undefined {
  return readNumber(text, 1_000) ?? readDate(text, now);
}

/** Refuses a bare number, because `Date.parse` would read the number as a year. */
function readDate(text: string | undefined, now: number): number | undefined {
  const date = text === undefined || readNumber(text) !== undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : date - now;
}

/** Reads `6m0s`, `20ms`, `26 seconds`. */
function readDuration(text: string | undefined): number | undefined {
  const parts = [...(text ?? '').matchAll(DURATION)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, value, unit = 's']) => sum + Number(value) * msOf(unit.toLowerCase()), 0);
}

function msOf(unit: string): number {
  return UNIT_MS[unit] ?? UNIT_MS[unit.charAt(0)] ?? 0;
}

/** Returns the latest reset of the limits that are used up, or whose rest is unknown. */
function readReset(given: (name: string) => string | undefined, now: number): number | undefined {
  const waits = LIMITS.filter(({ remaining }) => (readNumber(given(remaining)) ?? 0) <= 0)
    .map(({ reset }) => readDuration(given(reset)) ?? readDate(given(reset), now))
    .filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** The provider no longer accepts its own thinking, because its key changed or the history was imported. */
class ThinkingRefusedError extends ModelError {}

/**
 * Repeats a request without any thinking if the provider refuses its thinking. If the turn failed instead, the
 * conversation could be stuck: without a pass there is no version to roll back to.
 * @throws the error of the second attempt
 */
export async function retryWithoutThinking<Request extends ModelRequest, Answer>(
  request: Request,
  ask: (request: Request) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(request);
  } catch (error) {
    if (!(error instanceof ThinkingRefusedError)) throw error;
    const messages = request.messages.map(withoutThinking);
    if (messages.every((message, index) => message === request.messages[index])) throw error;
    return await ask({ ...request, messages });
  }
}

/**
 * Returns the same object if the message has no thinking. Edits the raw items directly, because an imported history has
 * no versions to compare.
 */
function withoutThinking(message: Message): Message {
  const raw = readRawItems(message);
  if (raw === undefined || !raw.items.some(isThinking)) return message;
  return { ...message, raw: { ...raw, items: raw.items.filter((item) => !isThinking(item)) } };
}
