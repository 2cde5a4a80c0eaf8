import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { homedir, platform } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';
import { EmbeddedRedis } from '../../store/embedded/server.ts';
import type { RedisTls } from '../../store/redis/address.ts';
import { useConfiguredRedis } from './configured-redis.ts';
import { identifyServer, withConnection } from './connection.ts';
import { startFromPackage } from './debian-package.ts';
import {
  DEFAULT_SERVER_ARGS,
  describeCause,
  type LocalRedis,
  LocalRedisError,
  SERVERS,
  type Source,
  type SourceRequest,
  SourceUnavailableError,
  type StartSource,
} from './local-redis.ts';
import { startFromPath } from './local-server.ts';

/** Starts a Redis inside this process. Works on any machine, and its data is neither durable nor shared. */
async function startInProcess(): Promise<LocalRedis> {
  const redis = await EmbeddedRedis.open();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    redis.serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    source: 'in-process',
    description: `a Redis inside this process, port ${port}, because no other can be started. It is for trials: its data ends with the process`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Docker image of a temporary Redis, the same as in docker-compose.yml, so that tests use the version that deployments
 * use.
 */
export const DEFAULT_IMAGE = 'redis:7.4.7-alpine';

const STARTERS: Readonly<Record<Source, StartSource>> = {
  path: startFromPath,
  container: startInContainer,
  package: startFromPackage,
  'in-process': startInProcess,
};

export interface ProvideRedisOptions {
  /** Address of an existing Redis. If it is set and not empty, no temporary Redis is started. */
  readonly redisUrl?: string | undefined;
  readonly redisTls?: RedisTls | undefined;
  /**
   * Environment variables (default: process.env). PATH, HOME and XDG_CACHE_HOME are read. apt-get gets all of them,
   * because they may configure proxies.
   */
  readonly env?: NodeJS.ProcessEnv;
  /** Ways to start a temporary Redis, in the order in which they are tried (default: all servers). */
  readonly sources?: readonly Source[];
  /** Arguments of redis-server that override the defaults. */
  readonly serverArgs?: readonly string[];
  readonly container?: { readonly image: string };
  /** Folder for unpacked packages (default: `turnfold` in $XDG_CACHE_HOME or ~/.cache). */
  readonly cacheDir?: string;
  /** Receives one line for each slow step, for each way that does not work, and for the Redis that is used. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Finds or starts a Redis that answers PING: the one at `redisUrl`, or a temporary one started in the first way that
 * works.
 * @throws LocalRedisError `redis_url_invalid` or `redis_unreachable` for `redisUrl`, `redis_unavailable` with the
 * reason of each failed way, or the reason of the signal
 */
export async function provideRedis(options: ProvideRedisOptions = {}): Promise<LocalRedis> {
  const log = options.log ?? (() => undefined);
  options.signal?.throwIfAborted();
  const redis = options.redisUrl
    ? await useConfiguredRedis({ url: options.redisUrl, tls: options.redisTls })
    : await startFirst(options.sources ?? SERVERS, completeRequest(options, log));
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
      request.log(`not usable: ${reason}`);
    }
  }
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const hint = describeInstallation(platform(), osRelease);
  throw new LocalRedisError('redis_unavailable', {
    message: `No Redis could be started (${reasons.join(', ')}). ${hint}`,
    hint,
  });
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

/** Returns the user's cache folder. By the XDG specification, a relative path in XDG_CACHE_HOME is ignored. */
function findCacheHome(env: NodeJS.ProcessEnv): string {
  const cacheHome = env['XDG_CACHE_HOME'] ?? '';
  return isAbsolute(cacheHome) ? cacheHome : join(env['HOME'] || homedir(), '.cache');
}

/** Commands that install Redis, by the ID or ID_LIKE of the distribution in /etc/os-release. */
const INSTALL_COMMANDS: readonly (readonly [ids: readonly string[], command: string])[] = [
  [['debian', 'ubuntu'], 'sudo apt-get update && sudo apt-get install redis-server'],
  [['fedora', 'rhel', 'centos'], 'sudo dnf install valkey (or: sudo dnf install redis)'],
  [['alpine'], 'apk add redis'],
  [['arch'], 'sudo pacman -S valkey'],
  [['suse', 'opensuse'], 'sudo zypper install redis'],
];

/** Explains how to install Redis on this system. @param osRelease the text of /etc/os-release, or "" */
export function describeInstallation(system: NodeJS.Platform, osRelease: string): string {
  const others = 'start Docker, or set REDIS_URL=redis://host:6379.';
  const command = findCommand(system, osRelease);
  if (command !== undefined) return `Install Redis with: ${command}. Or ${others}`;
  if (system === 'win32') return `Run this in WSL with Redis installed, or ${others}`;
  return `Install Redis 7 or newer so that redis-server is on PATH, or ${others}`;
}

function findCommand(system: NodeJS.Platform, osRelease: string): string | undefined {
  if (system === 'darwin') return 'brew install redis';
  if (system !== 'linux') return undefined;
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.+)$/gm)].flatMap(([, value]) => value?.match(/[\w-]+/g) ?? []);
  return INSTALL_COMMANDS.find(([known]) => known.some((id) => ids.includes(id)))?.[1];
}

const REDIS_PORT = 6379;
const ENGINE_TIMEOUT_MS = 2_000;
const CONTAINER_ANSWER_MS = 5_000;
/** Time limit in ms for pulling the image and starting the container. A blocked registry may never answer. */
const START_TIMEOUT_MS = 120_000;

/**
 * Starts Redis in a container. Testcontainers removes the container some seconds after this process ends, however it
 * ends. The Redis has a password, because testcontainers publishes ports on every network interface of the host.
 */
async function startInContainer(request: SourceRequest): Promise<LocalRedis> {
  const { GenericContainer, Wait, getContainerRuntimeClient } = await importTestcontainers();
  await within(ENGINE_TIMEOUT_MS, getContainerRuntimeClient()).catch((error: unknown) => {
    throw new SourceUnavailableError(`no container engine such as Docker answers (${describeCause(error)})`);
  });
  request.signal.throwIfAborted();
  const isReaped = request.env['TESTCONTAINERS_RYUK_DISABLED'] !== 'true';
  const limit = isReaped ? '' : ' (the cleanup of testcontainers is off, so the container outlives a killed process)';
  request.log(`starting ${request.image} in a container${limit}`);
  const password = randomBytes(24).toString('hex');
  const starting = new GenericContainer(request.image)
    .withCommand(['redis-server', ...request.serverArgs, '--requirepass', password])
    .withExposedPorts(REDIS_PORT)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/i))
    .start();
  const container = await within(START_TIMEOUT_MS, starting, request.signal).catch((error: unknown) => {
    void starting.then(remove, () => undefined); // If the container starts after the timeout, it is removed again.
    request.signal.throwIfAborted();
    throw new SourceUnavailableError(`${request.image} did not start: ${describeCause(error)}`);
  });
  return describeContainer(container, password, request.image);
}

async function describeContainer(
  container: StartedTestContainer,
  password: string,
  image: string,
): Promise<LocalRedis> {
  const port = container.getMappedPort(REDIS_PORT);
  const url = `redis://:${password}@${container.getHost()}:${port}`;
  try {
    const server = await withConnection({ url }, CONTAINER_ANSWER_MS, identifyServer);
    return {
      url,
      source: 'container',
      description: `${server.name} ${server.version} in a container of ${image}, port ${port}`,
      stop: () => remove(container),
    };
  } catch (error) {
    await remove(container);
    throw new SourceUnavailableError(`the container of ${image} does not answer: ${describeCause(error)}`);
  }
}

async function remove(container: StartedTestContainer): Promise<void> {
  await container.stop({ remove: true, removeVolumes: true, timeout: 0 });
}

/**
 * Imports testcontainers only when it is needed. The import takes 0.3 s, and the package is a development dependency
 * that an installed turnfold lacks.
 */
async function importTestcontainers(): Promise<typeof import('testcontainers')> {
  try {
    return await import('testcontainers');
  } catch (error) {
    throw new SourceUnavailableError(`testcontainers is not installed (${describeCause(error)})`);
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
