import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAtLeast, LEAST_REDIS } from '../redis/server-checks.ts';
import { identifyServer, type ServerIdentity, withConnection } from './connection.ts';
import { describeCause, SourceUnavailableError } from './errors.ts';
import type { LocalRedis, Source, SourceRequest } from './local-redis.ts';
import { launchServer, type ServerProcess } from './server-process.ts';

const READY_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 1_000;
const PING_PAUSE_MS = 20;
/** Between finding a free port and binding it another process can take it; three times in a row is not chance. */
const PORT_ATTEMPTS = 3;

export interface ServerBinary {
  readonly path: string;
  readonly source: Source;
  /** Completes the description: "from PATH". */
  readonly origin: string;
  readonly libraryPath?: string;
}

/**
 * Starts `binary` on a free port of 127.0.0.1 with a data folder of its own and waits until it answers.
 * Throws `SourceUnavailableError` when it does not within the deadline, or is too old; nothing is left behind then.
 */
export async function startLocalServer(binary: ServerBinary, request: SourceRequest): Promise<LocalRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    // Real path: Redis answers CONFIG GET dir with it, and macOS's tmpdir is a link.
    const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'turnfold-redis-')));
    const url = `redis://127.0.0.1:${port}`;
    const server = launchServer({
      binary: binary.path,
      args: [...request.serverArgs, ...ownArgs(port, dataDir)],
      env: serverEnv(binary, request.env),
      folder: dataDir,
    });
    try {
      const identity = await waitUntilReady({ server, url, dataDir, signal: request.signal });
      checkVersion(binary.path, identity);
      return {
        url,
        source: binary.source,
        description: `${identity.name} ${identity.version} ${binary.origin}, port ${port}`,
        ...(identity.pid === undefined ? {} : { pid: identity.pid }),
        dataDir,
        stop: () => server.stop(),
      };
    } catch (error) {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true }); // there is still one where /bin/sh is missing
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

/** After the caller's arguments, because the last one wins: address, folder and foreground are what we own it by. */
function ownArgs(port: number, dataDir: string): string[] {
  return ['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir, '--daemonize', 'no', '--logfile', ''];
}

/** The shell around the server needs `sleep` and `rm` even where the caller's PATH has neither. */
function serverEnv(binary: ServerBinary, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [env['PATH'], '/usr/bin', '/bin'].filter(Boolean).join(':');
  return { PATH: path, LC_ALL: 'C', ...(binary.libraryPath && { LD_LIBRARY_PATH: binary.libraryPath }) };
}

interface Startup {
  readonly server: ServerProcess;
  readonly url: string;
  readonly dataDir: string;
  readonly signal: AbortSignal;
}

async function waitUntilReady({ server, url, dataDir, signal }: Startup): Promise<ServerIdentity> {
  const giveUp = AbortSignal.any([signal, server.ended, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  for (;;) {
    giveUp.throwIfAborted();
    const identity = await withConnection({ url }, PING_TIMEOUT_MS, async (client) => {
      const answer = await identifyServer(client);
      const [, dir] = await client.config('GET', 'dir');
      return dir === dataDir ? answer : undefined; // else a stranger took the port: hands off
    }).catch(() => undefined); // refused or still loading
    if (identity !== undefined) return identity;
    await delay(PING_PAUSE_MS, undefined, { signal: giveUp });
  }
}

/** Left for another source: whoever opens a database there would be refused. */
function checkVersion(path: string, { name, version, redisVersion }: ServerIdentity): void {
  if (redisVersion === undefined || isAtLeast(redisVersion, LEAST_REDIS)) return;
  const what = name === 'Redis' ? `Redis ${version}` : `${name} ${version}, as good as Redis ${redisVersion}`;
  throw new SourceUnavailableError(`${path} is ${what}; turnfold needs Redis ${LEAST_REDIS}`);
}

async function findFreePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const listener = createServer();
  listener.once('error', reject);
  listener.listen(0, '127.0.0.1', () => {
    const address = listener.address();
    listener.close(() => {
      if (address === null || typeof address === 'string') reject(new Error('no TCP port'));
      else resolve(address.port);
    });
  });
  return promise;
}
