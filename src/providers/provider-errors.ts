import { ModelError } from '../domain/model.ts';
import { ERROR_TABLE } from './error-table.ts';
import { TeachingError } from './provider-habits.ts';
import { type ResponseHeaders, readRetryAt } from './rate-limits.ts';
import type { ErrorRow } from './request-errors.ts';

export interface ProviderFailure {
  /** HTTP status. Absent if there was no response, or if the stream failed. */
  readonly status?: number | undefined;
  /** Type of the error. Not validated, because OpenAI-compatible servers also send numbers and other values. */
  readonly type?: unknown;
  readonly code?: unknown;
  /** Message of the error. It may quote the request, so it is matched against patterns but never shown. */
  readonly message: string;
  readonly headers?: ResponseHeaders | undefined;
}

/** Error codes that are safe to show. Any other code could hold message contents or a key. GLM sends four digits. */
const NAME = /^(?:[a-z][\w.-]{0,63}|\d{4})$/i;
/** Types that say less than the provider's message, so that the message is matched first. */
const BROAD_NAMES: ReadonlySet<string> = new Set(['invalid_request_error', 'api_error', 'server_error']);
const BROAD_STATUSES: ReadonlySet<number | undefined> = new Set([undefined, 400, 404, 422, 500, 502, 503]);
const STATUS = /^[45]\d\d$/;
/** Maximum characters of a message that are searched, because some providers append the whole request to it. */
const SEARCHED_CHARS = 16_384;
/** Path in the request that a message names, such as `messages[3].content`. */
const PLACE = /\b(?:messages|input|tools|system)(?:[.[]\d+\]?)(?:[.[](?:\d+\]?|[a-z_]+))*/;

const SIZE_WORD = /\btokens?\b|\b(?:length|limit|window|too (?:long|large|big))\b/i;

const ITEM_ID = /\b(?:rs|msg|fc)_\w{1,80}/g;

/**
 * Converts a failed model request into a `ModelError`.
 * @param now ms since epoch
 * @param describe outlines the request. Called only if the provider refused the request as malformed
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
  const { kind, words, lesson, refusesContents, isLimit } =
    findRow({ status, message }, names) ?? unknownFailure(status);
  const [code] = names;
  const place = kind === 'retry' ? undefined : PLACE.exec(message)?.[0];
  const retryAt = kind === 'retry' ? readRetryAt({ headers, message, isRateLimit: status === 429 }, now) : undefined;
  const form = kind === 'invalid' ? describe(message) : '';
  const signs = [status, code].filter((sign) => sign !== undefined).join(' ');
  const text = `${words}${signs === '' ? '' : ` (${signs})`}${place === undefined ? '' : ` at ${place}`}`;
  const options = {
    ...(code === undefined ? {} : { code }),
    ...(form === '' ? {} : { form }),
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(refusesContents && { refusesContents }),
    mayBeTooLong: kind === 'invalid' && lesson === undefined && place === undefined && SIZE_WORD.test(message),
    ...(isLimit && { isLimit }),
  };
  if (lesson === undefined) return new ModelError(kind, text, options);
  return new TeachingError(kind, text, { ...options, lesson, itemIds: message.match(ITEM_ID) ?? [] });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** Reads the HTTP status from a code. OpenRouter sends the status as the error code if a stream fails. */
function readStatus(code: unknown): number | undefined {
  return (typeof code === 'number' || typeof code === 'string') && STATUS.test(String(code)) ? Number(code) : undefined;
}

function findRow(
  { status, message }: Pick<ProviderFailure, 'status' | 'message'>,
  names: readonly string[],
): ErrorRow | undefined {
  const byText = (list: 'decidingTexts' | 'texts'): ErrorRow | undefined =>
    ERROR_TABLE.find((row) => row[list]?.some((text) => text.test(message)));
  const byStatus = ERROR_TABLE.find(({ statuses }) => status !== undefined && statuses?.includes(status));
  return (
    byText('decidingTexts') ??
    findByName(names.filter((name) => !BROAD_NAMES.has(name))) ??
    (BROAD_STATUSES.has(status) ? undefined : byStatus) ??
    byText('texts') ??
    ERROR_TABLE.find((row) => row.states?.(message)) ??
    findByName(names) ??
    byStatus
  );
}

function findByName(names: readonly string[]): ErrorRow | undefined {
  return names.map((name) => ERROR_TABLE.find(({ types }) => types?.includes(name))).find((row) => row !== undefined);
}

/**
 * Row for a failure that the table does not list. Without a status, the provider accepted the request, but its answer
 * was lost on the way.
 */
function unknownFailure(status: number | undefined): ErrorRow {
  if (status === undefined) return { kind: 'retry', words: 'the answer did not arrive completely' };
  return status >= 400 && status < 500
    ? { kind: 'fatal', words: 'the provider refused the request' }
    : { kind: 'retry', words: 'the provider had an internal error' };
}
