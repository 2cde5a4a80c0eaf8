import { readFile } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { RedisTls } from '../redis/address.ts';
import { startInContainer } from './container.ts';
import { startFromPackage } from './debian-package.ts';
import { LocalRedisError, SourceUnavailableError } from './errors.ts';
import { useGivenRedis } from './given.ts';
import { describeInstallation } from './install-hint.ts';
import {
  DEFAULT_SERVER_ARGS,
  type LocalRedis,
  SOURCES,
  type Source,
  type SourceRequest,
  type StartSource,
} from './local-redis.ts';
import { startFromPath } from './path.ts';

/** The image of docker-compose.yml, so that what is tested is what is run. A test compares both. */
export const DEFAULT_IMAGE = 'redis:7.4.7-alpine';

const STARTERS: Readonly<Record<Source, StartSource>> = {
  path: startFromPath,
  container: startInContainer,
  package: startFromPackage,
};

export interface ProvideRedisOptions {
  /** REDIS_URL; "" counts as absent. When given, no other source is tried. */
  readonly redisUrl?: string | undefined;
  readonly redisTls?: RedisTls | undefined;
  /** PATH, HOME and XDG_CACHE_HOME are read, and all of it is passed to apt-get (proxies). Default: process.env. */
  readonly env?: NodeJS.ProcessEnv;
  /** Which sources to try, in this order. Default: all. */
  readonly sources?: readonly Source[];
  /** Arguments of redis-server, after the defaults, so that they win. */
  readonly serverArgs?: readonly string[];
  readonly container?: { readonly image: string };
  /** Where unpacked packages are kept. Default: turnfold in $XDG_CACHE_HOME or ~/.cache. */
  readonly cacheDir?: string;
  /** Called with what takes long, was passed over or was chosen, one line each. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Finds or starts a Redis that answers PING: the given one, else the first source that can serve.
 * Throws `LocalRedisError`: `redis_url_invalid` and `redis_unreachable` for a given one, `redis_unavailable` when no
 * source can serve, with every source's reason and what to install; the signal's reason when aborted.
 */
export async function provideRedis(options: ProvideRedisOptions = {}): Promise<LocalRedis> {
  const log = options.log ?? (() => undefined);
  options.signal?.throwIfAborted();
  const redis = options.redisUrl
    ? await useGivenRedis({ url: options.redisUrl, tls: options.redisTls })
    : await startFirst(options.sources ?? SOURCES, completeRequest(options, log));
  log(`using ${redis.description}`);
  return redis;
}

async function startFirst(sources: readonly Source[], request: SourceRequest): Promise<LocalRedis> {
  const reasons: string[] = [];
  for (const source of sources) {
    try {
      return await STARTERS[source](request);
    } catch (error) {
      if (!(error instanceof SourceUnavailableError)) throw error;
      const reason = `${source}: ${error.message}`;
      reasons.push(reason);
      request.log(`passed over: ${reason}`);
    }
  }
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const hint = describeInstallation(platform(), osRelease);
  throw new LocalRedisError('redis_unavailable', { message: `No Redis here (${reasons.join('; ')}). ${hint}`, hint });
}

function completeRequest(options: ProvideRedisOptions, log: (line: string) => void): SourceRequest {
  const env = options.env ?? process.env;
  return {
    env,
    serverArgs: [...DEFAULT_SERVER_ARGS, ...(options.serverArgs ?? [])],
    image: options.container?.image ?? DEFAULT_IMAGE,
    cacheDir: options.cacheDir ?? join(findCacheHome(env), 'turnfold'),
    log,
    signal: options.signal ?? new AbortController().signal,
  };
}

/** By the XDG rules a relative path counts as absent. */
function findCacheHome(env: NodeJS.ProcessEnv): string {
  const cacheHome = env['XDG_CACHE_HOME'] ?? '';
  return isAbsolute(cacheHome) ? cacheHome : join(env['HOME'] || homedir(), '.cache');
}
