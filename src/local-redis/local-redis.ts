/** Sources of a temporary Redis, in the order in which they are tried. */
export const SOURCES = ['path', 'container', 'package'] as const;
export type Source = (typeof SOURCES)[number];

export interface LocalRedis {
  /** Address, possibly with a password. Never log it. */
  readonly url: string;
  readonly source: 'configured' | Source;
  /** Text without credentials: "Redis 7.0.15 from PATH, port 41233". */
  readonly description: string;
  /** Process id of a server that was started here. */
  readonly pid?: number;
  /** Folder that `stop` removes. */
  readonly dataDir?: string;
  /** Stops a Redis that was started here and removes its data. Does nothing to a configured one. Idempotent. */
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

/** @throws SourceUnavailableError if this source does not work on this machine */
export type StartSource = (request: SourceRequest) => Promise<LocalRedis>;

/**
 * Durable as in production: append-only file, synced every second. `noeviction`, because a queue must not lose keys. No
 * snapshots, which would only add forks and writes.
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
