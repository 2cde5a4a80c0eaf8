import { ModelError, type ModelErrorKind } from '../domain/model.ts';
import { ERROR_TABLE, type ErrorRow } from './error-table.ts';
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

/** An identifier; whatever else stands in its place could be contents, or a key. */
const NAME = /^[a-z][\w.-]{0,63}$/i;
/** So broad a type says less than its own text. */
const BROAD_NAME = 'invalid_request_error';
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
  const { status, message, headers } = failure;
  const names = [failure.code, failure.type].filter((name): name is string => isName(name));
  const { kind, words } = findRow(failure, names) ?? unknownFailure(status);
  const [code] = names;
  const place = kind === 'invalid' ? PLACE.exec(message)?.[0] : undefined;
  const retryAt = kind === 'retry' ? readRetryAt({ headers, message, isRateLimit: status === 429 }, now) : undefined;
  const form = kind === 'invalid' ? describe(message) : '';
  const signs = [status, code].filter((sign) => sign !== undefined).join(' ');
  return new ModelError(
    kind,
    `${words}${signs === '' ? '' : ` (${signs})`}${place === undefined ? '' : ` at ${place}`}`,
    {
      ...(code === undefined ? {} : { code }),
      ...(form === '' ? {} : { form }),
      ...(retryAt === undefined ? {} : { retryAt }),
    },
  );
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** By code, by type, by status; text last, and only where those leave it open. */
function findRow({ status, message }: ProviderFailure, names: readonly string[]): ErrorRow | undefined {
  const byName = names
    .filter((name) => name !== BROAD_NAME)
    .map((name) => ERROR_TABLE.find(({ types }) => types?.includes(name)))
    .find((row) => row !== undefined);
  if (byName !== undefined) return byName;
  const byStatus = ERROR_TABLE.find(({ statuses }) => status !== undefined && statuses?.includes(status));
  if (byStatus !== undefined && byStatus.kind !== 'invalid') return byStatus;
  return ERROR_TABLE.find(({ texts }) => texts?.some((text) => text.test(message))) ?? byStatus;
}

/** Without a status the form was taken, and the answer did not come through. */
function unknownFailure(status: number | undefined): { readonly kind: ModelErrorKind; readonly words: string } {
  if (status === undefined) return { kind: 'retry', words: 'no whole answer' };
  return status >= 400 && status < 500
    ? { kind: 'fatal', words: 'the provider refuses' }
    : { kind: 'retry', words: 'the provider failed' };
}
