/** Ways to start a temporary Redis of its own process, in the order in which they are tried. */
export const SERVERS = ['path', 'container', 'package'] as const;
/** The last way always works. */
export const SOURCES = [...SERVERS, 'in-process'] as const;
export type Source = (typeof SOURCES)[number];

export interface LocalRedis {
  /** Address of the Redis, which may contain a password. Never log it. */
  readonly url: string;
  readonly source: 'configured' | Source;
  /** Describes the Redis without credentials: "Redis 7.0.15 from PATH, port 41233". */
  readonly description: string;
  /** Process id of the server, if this process started it. */
  readonly pid?: number;
  /** Data folder, which `stop` removes. */
  readonly dataDir?: string;
  /**
   * Stops a Redis that this process started, and removes its data. Does nothing to a Redis at REDIS_URL. Can be called
   * repeatedly.
   */
  stop(): Promise<void>;
}

export interface SourceRequest {
  readonly env: NodeJS.ProcessEnv;
  readonly serverArgs: readonly string[];
  readonly image: string;
  readonly cacheDir: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Starts a Redis in one of the ways. @throws SourceUnavailableError if this way does not work on this machine */
export type StartSource = (request: SourceRequest) => Promise<LocalRedis>;

/**
 * Arguments for a Redis that is as durable as in production. The append-only file is synced every second. `noeviction`
 * is set, because a queue must not lose keys. Snapshots are off, because they would only add forks and writes.
 */
export const DEFAULT_SERVER_ARGS: readonly string[] = [
  '--appendonly',
  'yes',
  '--appendfsync',
  'everysec',
  '--save',
  '',
  '--maxmemory-policy',
  'noeviction',
];

type LocalRedisErrorCode = 'redis_url_invalid' | 'redis_unreachable' | 'redis_unavailable';

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
