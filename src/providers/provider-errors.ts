import { ModelError, type ModelErrorOptions } from '../domain/model.ts';
import { isMapping } from '../domain/parse.ts';
import { ERROR_TABLE } from './error-table.ts';
import { TeachingError } from './provider-habits.ts';
import { type ResponseHeaders, readRetryAt } from './rate-limits.ts';
import type { ErrorRow } from './request-errors.ts';

export interface ProviderFailure {
  /** Absent if there was no response, or if the stream failed. */
  readonly status?: number | undefined;
  /** Not validated, because compatible servers also send numbers and other values. */
  readonly type?: unknown;
  readonly code?: unknown;
  /** Message that may quote the request, so turnfold searches the message but never shows the message. */
  readonly message: string;
  readonly headers?: ResponseHeaders | undefined;
}

/** Codes that are safe to show. Others could hold message contents or a key. GLM sends four digits. */
const NAME = /^(?:[a-z][\w.-]{0,63}|\d{4})$/i;
/** Error types that say less than the message, which is searched before these types count. */
const BROAD_NAMES: ReadonlySet<string> = new Set(['invalid_request_error', 'api_error', 'server_error']);
const BROAD_STATUSES: ReadonlySet<number | undefined> = new Set([undefined, 400, 404, 422, 500, 502, 503]);
const STATUS = /^[45]\d\d$/;
/** Characters of a message that are searched, because some providers append the whole request. */
const SEARCHED_CHARS = 16_384;
/** A path in the request, such as `messages[3].content`. */
const PLACE = /\b(?:messages|input|tools|system)(?:[.[]\d+\]?)(?:[.[](?:\d+\]?|[a-z_]+))*/;

const SIZE_WORD = /\btokens?\b|\b(?:length|limit|window|too (?:long|large|big))\b/i;

const ITEM_ID = /\b(?:rs|msg|fc)_\w{1,80}/g;

type Paid = Pick<ModelErrorOptions, 'usage'>;

export function brokenOff(paid?: Paid): ModelError {
  return new ModelError('retry', 'the stream ended before the answer was complete', paid);
}

export function exceededWindow(code: string, paid?: Paid): ModelError {
  return new ModelError('overflow', 'the answer was cut off at the end of the context window', { code, ...paid });
}

export function replacedAnswer(): ModelError {
  return new ModelError('retry', 'the response is not a model answer: a proxy may have replaced it');
}

/**
 * Converts a failed model request into a `ModelError`.
 * @param now ms since epoch
 * @param describe outlines a request that the provider refused as malformed
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
  const { kind, words, lesson, refusesContents, refusesSettings, isLimit } =
    findRow({ status, message }, names) ?? unknownFailure(status);
  const [code] = names;
  const place = kind === 'retry' ? undefined : PLACE.exec(message)?.[0];
  const text = describeFailure(words, [status, code], place);
  const options = {
    ...(code !== undefined && { code }),
    ...(refusesContents && { refusesContents }),
    ...(refusesSettings && { refusesSettings }),
    ...(isLimit && { isLimit }),
  };
  if (kind === 'retry') {
    const retryAt = readRetryAt({ headers, message, isRateLimit: status === 429 }, now);
    return new ModelError(kind, text, { ...options, ...(retryAt !== undefined && { retryAt }) });
  }
  if (kind !== 'invalid') return new ModelError(kind, text, options);
  const form = describe(message);
  const outlined = { ...options, ...(form !== '' && { form }) };
  if (lesson !== undefined)
    return new TeachingError(kind, text, { ...outlined, lesson, itemIds: message.match(ITEM_ID) ?? [] });
  const mayBeTooLong = place === undefined && SIZE_WORD.test(message);
  return new ModelError(kind, text, { ...outlined, mayBeTooLong });
}

function describeFailure(
  words: string,
  signs: readonly (string | number | undefined)[],
  place: string | undefined,
): string {
  const given = signs.filter((sign) => sign !== undefined).join(' ');
  return `${words}${given === '' ? '' : ` (${given})`}${place === undefined ? '' : ` at ${place}`}`;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** OpenRouter sends the HTTP status as the error code if a stream fails. */
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

/** Without a status, the provider accepted the request, but its answer was lost on the way. */
function unknownFailure(status: number | undefined): ErrorRow {
  if (status === undefined) return { kind: 'retry', words: 'the answer did not arrive completely' };
  return status >= 400 && status < 500
    ? { kind: 'fatal', words: 'the provider refused the request' }
    : { kind: 'retry', words: 'the provider had an internal error' };
}

export function readErrorFields({ code, type, message, metadata }: Readonly<Record<string, unknown>>): ProviderFailure {
  // OpenRouter puts the error of the provider behind it into `metadata.raw`.
  const raw = isMapping(metadata) ? metadata['raw'] : undefined;
  const texts = [message, raw].filter((text) => typeof text === 'string');
  return { code, type, message: texts.join('\n') };
}

export interface FailedCall {
  readonly signal: AbortSignal;
  readonly describe: (refusal: string) => string;
}

/** Returns a function that converts errors of one SDK, or throws the signal's reason if the signal ended the call. */
export function errorClassifier(readFailure: (error: unknown) => ProviderFailure) {
  return (error: unknown, { signal, describe }: FailedCall): ModelError => {
    signal.throwIfAborted();
    return classifyFailure(readFailure(error), Date.now(), describe);
  };
}
