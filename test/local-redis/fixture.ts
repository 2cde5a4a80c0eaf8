import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { hasApt } from '../../src/host/local-redis/debian-package.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';

const run = promisify(execFile);

export async function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'turnfold-test-'));
}

/** The environment of this run in a home of its own, with `path` for PATH. */
export function makeEnv(home: string, path: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: home, XDG_CACHE_HOME: join(home, 'cache'), PATH: path };
}

/** Reason why the package source cannot work here, found without the code under test. Undefined if it can. */
export async function findPackageObstacle(folder: string): Promise<string | undefined> {
  if (!hasApt()) return 'no apt-get here: not a Debian or Ubuntu system';
  const { stdout } = await run('/usr/bin/apt-get', ['update', '--print-uris']);
  const uri = /'(\S+InRelease)'/.exec(stdout)?.[1];
  if (uri === undefined) return 'apt-get has no package source configured';
  try {
    await run('/usr/lib/apt/apt-helper', ['download-file', uri, join(folder, 'InRelease')], { timeout: 30_000 });
    return undefined;
  } catch {
    return `no network: ${uri} cannot be downloaded`;
  }
}

/**
 * Returns a folder for PATH with a real server: the installed one, or one from the distribution's package.
 * Without a server it returns the obstacle, so that the caller can skip with that text.
 */
export async function findServerFolder(home: string): Promise<{ folder: string } | { obstacle: string }> {
  const installed = await findOnPath(['redis-server', 'valkey-server'], process.env['PATH'] ?? '');
  if (installed !== undefined) return { folder: dirname(installed) };
  const obstacle = await findPackageObstacle(home);
  if (obstacle !== undefined) return { obstacle: `no redis-server on PATH, and ${obstacle}` };
  const cacheDir = join(home, 'unpacked');
  const redis = await provideRedis({ env: makeEnv(home, ''), cacheDir, sources: ['package'] });
  await redis.stop();
  const [system] = await readdir(join(cacheDir, 'redis'));
  const tree = join(cacheDir, 'redis', system ?? '');
  const folder = join(home, 'bin');
  await mkdir(folder);
  const script = `#!/bin/sh
export LD_LIBRARY_PATH=$(ls -d '${tree}'/usr/lib/*-linux-* '${tree}'/lib/*-linux-* 2>/dev/null | tr '\\n' ':')
exec '${tree}/usr/bin/redis-server' "$@"
`;
  await writeFile(join(folder, 'redis-server'), script);
  await chmod(join(folder, 'redis-server'), 0o755);
  return { folder };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** True when nothing is left of a server that was started here. */
export function isGone({ pid, dataDir }: Pick<LocalRedis, 'pid' | 'dataDir'>): boolean {
  if (pid === undefined || dataDir === undefined) throw new Error('not a server that was started here');
  return !isAlive(pid) && !existsSync(dataDir);
}

/** A process that holds a Redis and ends only on a message or a kill. */
export async function spawnHolder(env: NodeJS.ProcessEnv): Promise<{ process: ChildProcess; redis: LocalRedis }> {
  const script = fileURLToPath(new URL('./hold-redis.ts', import.meta.url));
  const holder = spawn(process.execPath, [script], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface(holder.stdout)) {
    return { process: holder, redis: JSON.parse(line) as LocalRedis };
  }
  throw new Error('the holder ended before it had a Redis');
}

/** A port of 127.0.0.1 on which nothing listens. */
export async function findClosedPort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const port = portOf(listener);
  await once(listener.close(), 'close');
  return port;
}

/** The port of a listener that accepts every connection and never answers, until the test is over. */
export async function listenSilently(): Promise<number> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  });
  return portOf(listener);
}

function portOf(listener: Server): number {
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  return address.port;
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
