/** Ways to start a Redis in a process of its own, in the order in which they are tried. */
export const SERVERS = ['path', 'container', 'package'] as const;
/** Ways to provide a Redis, in the order in which they are tried. The last one always works. */
export const SOURCES = [...SERVERS, 'in-process'] as const;
export type Source = (typeof SOURCES)[number];

export interface LocalRedis {
  /** Address of the Redis, which may contain a password. Never log it. */
  readonly url: string;
  readonly source: 'configured' | Source;
  /** Describes the Redis without credentials: "Redis 7.0.15 from PATH, port 41233". */
  readonly description: string;
  readonly pid?: number;
  /** Folder with the data, which `stop` removes. */
  readonly dataDir?: string;
  /** Stops the server. Repeated calls do nothing more. */
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

/** As durable as in production. Snapshots are off, because they would only add forks and writes. */
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

export class LocalRedisError extends Error {
  override readonly name = 'LocalRedisError';
  readonly code: 'redis_url_invalid' | 'redis_unreachable' | 'redis_unavailable';
  readonly hint: string;

  constructor(code: LocalRedisError['code'], details: { message: string; hint: string; cause?: unknown }) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.hint = details.hint;
  }
}

/** One way to start a Redis does not work on this machine. The caller tries the next way. */
export class SourceUnavailableError extends Error {
  override readonly name = 'SourceUnavailableError';
}

export function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(describeCause).join('; ');
  // A Redis Cluster error says only that all nodes failed. The reason is in its field `lastNodeError`.
  if (cause instanceof Error && 'lastNodeError' in cause) return describeCause(cause.lastNodeError);
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
