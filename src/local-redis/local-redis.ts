/** Where a Redis of our own can come from, in the order in which they are tried. */
export const SOURCES = ['path', 'container', 'package'] as const;
export type Source = (typeof SOURCES)[number];

/** A Redis that answered PING. Only one that was started here has anything to stop. */
export interface LocalRedis {
  /** May hold credentials: for clients, not for logs. */
  readonly url: string;
  readonly source: 'given' | Source;
  /** For people, without credentials: "Redis 7.0.15 from PATH, port 41233". */
  readonly description: string;
  /** Of a server process on this machine that was started here. */
  readonly pid?: number;
  /** Lives as long as the server: `stop` removes it. */
  readonly dataDir?: string;
  /** Ends what was started here and removes its data; may be called again. Leaves a given Redis alone. */
  stop(): Promise<void>;
}

/** What every source is asked with. */
export interface SourceRequest {
  readonly env: NodeJS.ProcessEnv;
  readonly serverArgs: readonly string[];
  readonly image: string;
  readonly cacheDir: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Throws `SourceUnavailableError` when this machine cannot serve it that way. */
export type StartSource = (request: SourceRequest) => Promise<LocalRedis>;

/**
 * Durable as in production (append-only file, synced every second) and never evicting, because keys that vanish are not
 * an overload answer for a queue. No snapshots: they would only add forks and writes to a folder that is thrown away.
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
