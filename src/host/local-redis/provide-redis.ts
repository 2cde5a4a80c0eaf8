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
import { identifyServer, withConnection, within } from './connection.ts';
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
} from './local-redis.ts';
import { startFromPath } from './local-server.ts';

/** The same image as in docker-compose.yml, so that tests use the version that deployments use. */
export const DEFAULT_IMAGE = 'redis:7.4.7-alpine';

/**
 * A temporary Redis for `demo`, `dev`, tests and benches, so that a trial needs no installation. The ways are tried in
 * this order until one works. The embedded Redis comes last, because its data is neither durable nor shared.
 *
 * - `path`: redis-server or valkey-server of this machine
 * - `container`: Docker, by testcontainers
 * - `package`: the program of the Debian package, downloaded without root
 * - `in-process`: the embedded Redis, which works on any machine, and whose data ends with the process
 */
const STARTERS: Readonly<Record<Source, (request: SourceRequest) => Promise<LocalRedis>>> = {
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
   * Variables to read: PATH, HOME, XDG_CACHE_HOME. apt-get gets all, because of proxy settings (default: process.env).
   */
  readonly env?: NodeJS.ProcessEnv;
  /** Ways to start a Redis, in the order in which they are tried (default: all that start a server). */
  readonly sources?: readonly Source[];
  /** Arguments of the Redis server, which override the defaults. */
  readonly serverArgs?: readonly string[];
  readonly container?: { readonly image: string };
  /** Folder for unpacked packages (default: `turnfold` in $XDG_CACHE_HOME or ~/.cache). */
  readonly cacheDir?: string;
  /** Receives one line for each slow step, for each way that does not work, and for the Redis that is used. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** @throws LocalRedisError `redis_url_invalid`, `redis_unreachable`, or `redis_unavailable` with each failed way */
export async function provideRedis(options: ProvideRedisOptions = {}): Promise<LocalRedis> {
  const { redisUrl, redisTls, sources = SERVERS, log = () => undefined } = options;
  options.signal?.throwIfAborted();
  const redis = redisUrl
    ? await useConfiguredRedis({ url: redisUrl, tls: redisTls })
    : await startFirst(sources, completeRequest(options, log));
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
  const { env = process.env, serverArgs = [], signal = new AbortController().signal } = options;
  return {
    env,
    serverArgs: [...DEFAULT_SERVER_ARGS, ...serverArgs],
    image: options.container?.image ?? DEFAULT_IMAGE,
    cacheDir: options.cacheDir ?? join(findCacheHome(env), 'turnfold'),
    log,
    signal,
  };
}

/** By the XDG specification, a relative path in XDG_CACHE_HOME is ignored. */
function findCacheHome(env: NodeJS.ProcessEnv): string {
  const cacheHome = env['XDG_CACHE_HOME'] ?? '';
  return isAbsolute(cacheHome) ? cacheHome : join(env['HOME'] || homedir(), '.cache');
}

/** Commands that install a Redis, by the ID or ID_LIKE of the distribution in /etc/os-release. */
const INSTALL_COMMANDS: readonly (readonly [ids: readonly string[], command: string])[] = [
  [['debian', 'ubuntu'], 'sudo apt-get update && sudo apt-get install redis-server'],
  [['fedora', 'rhel', 'centos'], 'sudo dnf install valkey (or: sudo dnf install redis)'],
  [['alpine'], 'apk add redis'],
  [['arch'], 'sudo pacman -S valkey'],
  [['suse', 'opensuse'], 'sudo zypper install redis'],
];

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
const ANSWER_TIMEOUT_MS = 5_000;
/** ms for pulling the image and starting the container. A blocked registry may never answer. */
const START_TIMEOUT_MS = 120_000;

/**
 * Testcontainers removes the container however this process ends. Its ports are published on every network interface of
 * the host, so it needs a password.
 */
async function startInContainer({ image, env, serverArgs, log, signal }: SourceRequest): Promise<LocalRedis> {
  // The import takes 0.3 s, and the package is a development dependency that an installed turnfold lacks.
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers').catch(
    (error: unknown) => {
      throw new SourceUnavailableError(`testcontainers is not installed (${describeCause(error)})`);
    },
  );
  await within(ENGINE_TIMEOUT_MS, getContainerRuntimeClient()).catch((error: unknown) => {
    throw new SourceUnavailableError(`no container engine such as Docker answers (${describeCause(error)})`);
  });
  signal.throwIfAborted();
  const isReaped = env['TESTCONTAINERS_RYUK_DISABLED'] !== 'true';
  const limit = isReaped ? '' : ' (the cleanup of testcontainers is off, so the container outlives a killed process)';
  log(`starting ${image} in a container${limit}`);
  const password = randomBytes(24).toString('hex');
  const starting = new GenericContainer(image)
    .withCommand(['redis-server', ...serverArgs, '--requirepass', password])
    .withExposedPorts(REDIS_PORT)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/i))
    .start();
  const container = await within(START_TIMEOUT_MS, starting, signal).catch((error: unknown) => {
    void starting.then(remove, () => undefined); // If the container starts after the timeout, it is removed again.
    signal.throwIfAborted();
    throw new SourceUnavailableError(`${image} did not start: ${describeCause(error)}`);
  });
  const port = container.getMappedPort(REDIS_PORT);
  const url = `redis://:${password}@${container.getHost()}:${port}`;
  try {
    const server = await withConnection({ url }, ANSWER_TIMEOUT_MS, identifyServer);
    const description = `${server.name} ${server.version} in a container of ${image}, port ${port}`;
    return { url, source: 'container', description, stop: () => remove(container) };
  } catch (error) {
    await remove(container);
    throw new SourceUnavailableError(`the container of ${image} does not answer: ${describeCause(error)}`);
  }
}

async function remove(container: StartedTestContainer): Promise<void> {
  await container.stop({ remove: true, removeVolumes: true, timeout: 0 });
}

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
