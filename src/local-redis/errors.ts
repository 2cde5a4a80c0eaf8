/** What the caller can react to; `message` says what happened, `hint` what to do next. */
export type LocalRedisErrorCode = 'redis_url_invalid' | 'redis_unreachable' | 'redis_unavailable';

export class LocalRedisError extends Error {
  override readonly name = 'LocalRedisError';
  readonly code: LocalRedisErrorCode;
  readonly hint: string;

  constructor(code: LocalRedisErrorCode, details: { message: string; hint: string; cause?: unknown }) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.hint = details.hint;
  }
}

/** One source cannot serve on this machine; the walk notes the reason and goes on to the next. */
export class SourceUnavailableError extends Error {
  override readonly name = 'SourceUnavailableError';
}

/** The shortest honest text of anything thrown. */
export function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(describeCause).join('; ');
  // of a Cluster, whose own words tell nothing
  if (cause instanceof Error && 'lastNodeError' in cause) return describeCause(cause.lastNodeError);
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
