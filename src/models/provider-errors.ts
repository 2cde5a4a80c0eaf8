import { ModelError } from '../domain/model.ts';
import { ERROR_TABLE, type ErrorRow } from './error-table.ts';
import { ThinkingRefused } from './refused-thinking.ts';
import { readRetryAt } from './retry-time.ts';

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
