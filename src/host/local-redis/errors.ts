export type LocalRedisErrorCode = 'redis_url_invalid' | 'redis_unreachable' | 'redis_unavailable';

export class LocalRedisError extends Error {
  override readonly name = 'LocalRedisError';
  readonly code: LocalRedisErrorCode;
  /** Advice for a person on what to do. */
  readonly hint: string;

  constructor(code: LocalRedisErrorCode, details: { message: string; hint: string; cause?: unknown }) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.hint = details.hint;
  }
}

/**
 * One way to start a temporary Redis, such as a container, does not work on this machine. The caller tries the next
 * way.
 */
export class SourceUnavailableError extends Error {
  override readonly name = 'SourceUnavailableError';
}

export function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(describeCause).join('; ');
  // The error of a Redis Cluster says only that all nodes failed. The reason is in `lastNodeError`.
  if (cause instanceof Error && 'lastNodeError' in cause) return describeCause(cause.lastNodeError);
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
