import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAtLeast, LEAST_REDIS } from '../../store/redis/server-checks.ts';
import { identifyServer, type ServerIdentity, withConnection } from './connection.ts';
import {
  describeCause,
  type LocalRedis,
  type Source,
  type SourceRequest,
  SourceUnavailableError,
} from './local-redis.ts';
import { launchServer, type ServerProcess } from './server-process.ts';

const READY_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 1_000;
const PING_PAUSE_MS = 20;
/** Another process may take a free port first, but hardly three times in a row. */
const PORT_ATTEMPTS = 3;

interface ServerBinary {
  readonly path: string;
  readonly source: Source;
  readonly origin: string;
  readonly libraryPath?: string;
}

/** @throws SourceUnavailableError if the server does not answer or is too old. Its process and folder are removed. */
export async function startLocalServer(binary: ServerBinary, request: SourceRequest): Promise<LocalRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    // CONFIG GET dir returns the real path, whereas the temporary folder of macOS is a link.
    const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'turnfold-redis-')));
    const url = `redis://127.0.0.1:${port}`;
    // Redis uses the last value of an argument. So the arguments that tie the server to this process come last.
    const bound = [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      dataDir,
      '--daemonize',
      'no',
      '--logfile',
      '',
    ];
    const server = launchServer({
      binary: binary.path,
      args: [...request.serverArgs, ...bound],
      env: serverEnv(binary, request.env),
      folder: dataDir,
    });
    try {
      const { name, version, redisVersion, pid } = await waitUntilReady(server, {
        url,
        dataDir,
        signal: request.signal,
      });
      checkVersion(binary.path, { name, version, redisVersion });
      return {
        url,
        source: binary.source,
        description: `${name} ${version} ${binary.origin}, port ${port}`,
        ...(pid !== undefined && { pid }),
        dataDir,
        stop: () => server.stop(),
      };
    } catch (error) {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true }); // Without /bin/sh, nothing else removes the folder.
      request.signal.throwIfAborted();
      if (error instanceof SourceUnavailableError) throw error;
      const isPortTaken = /address already in use/i.test(server.lastOutput());
      if (!isPortTaken || attempt === PORT_ATTEMPTS) {
        throw new SourceUnavailableError(
          `${binary.path} did not start: ${server.lastOutput() || describeCause(error)}`,
        );
      }
    }
  }
}

/** Environment of the server. The shell that supervises it needs `sleep` and `rm`, which the caller's PATH may lack. */
function serverEnv({ libraryPath }: ServerBinary, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [env['PATH'], '/usr/bin', '/bin'].filter(Boolean).join(':');
  return { PATH: path, LC_ALL: 'C', ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) };
}

async function waitUntilReady(
  server: ServerProcess,
  { url, dataDir, signal }: { readonly url: string; readonly dataDir: string; readonly signal: AbortSignal },
): Promise<ServerIdentity> {
  const giveUp = AbortSignal.any([signal, server.ended, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  for (;;) {
    giveUp.throwIfAborted();
    const identity = await withConnection({ url }, PING_TIMEOUT_MS, async (client) => {
      const answer = await identifyServer(client);
      const [, dir] = await client.config('GET', 'dir');
      return dir === dataDir ? answer : undefined; // another folder: another server has the port
    }).catch(() => undefined); // The server refused the connection or is still loading.
    signal.throwIfAborted();
    if (identity !== undefined) return identity;
    await delay(PING_PAUSE_MS, undefined, { signal: giveUp });
  }
}

function checkVersion(path: string, { name, version, redisVersion }: Omit<ServerIdentity, 'pid'>): void {
  if (redisVersion === undefined || isAtLeast(redisVersion, LEAST_REDIS)) return;
  const what = name === 'Redis' ? `Redis ${version}` : `${name} ${version}, compatible with Redis ${redisVersion}`;
  throw new SourceUnavailableError(`${path} is ${what}, but turnfold needs Redis ${LEAST_REDIS}`);
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

const SERVER_NAMES = ['redis-server', 'valkey-server'];

export async function startFromPath(request: SourceRequest): Promise<LocalRedis> {
  const path = await findOnPath(SERVER_NAMES, request.env['PATH'] ?? '');
  if (path === undefined) throw new SourceUnavailableError(`no ${SERVER_NAMES.join(' or ')} on PATH`);
  return startLocalServer({ path, source: 'path', origin: 'from PATH' }, request);
}

/** Finds the first program in an absolute folder of `searchPath`. */
export async function findOnPath(names: readonly string[], searchPath: string): Promise<string | undefined> {
  const folders = searchPath.split(delimiter).filter(isAbsolute);
  for (const candidate of names.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
