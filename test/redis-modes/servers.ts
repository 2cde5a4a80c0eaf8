import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { launchServer } from '../../src/host/local-redis/server-process.ts';
import { prepareServers } from '../../src/store/redis/server-connections.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import type { Certificate } from './certificates.ts';

const READY_MS = 60_000;

export interface Server {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly dir: string;
  /** Connection of the test itself. */
  readonly redis: Redis;
  signal(name: NodeJS.Signals): void;
  /** Stops the server, and removes its folder unless `dir` was set. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly port?: number;
  /** Data folder, kept when the server stops (default: a temporary one). */
  readonly dir?: string;
  readonly args?: readonly string[];
  /** Text of a config file. Sentinels rewrite it. */
  readonly sentinelOf?: string;
  /** Password that `args` require. */
  readonly password?: string;
  /** The server speaks only TLS: with clients, replicas and other nodes. */
  readonly tls?: ServerTls | undefined;
}

export interface ServerTls {
  readonly certificate: Certificate;
  /** Path of the trusted authority. */
  readonly caFile: string;
  /** True if clients need a certificate. Default false. */
  readonly asksClients?: boolean;
}

export const serverPath = await findOnPath(['redis-server', 'valkey-server'], process.env['PATH'] ?? '');
/** True if PATH has a server. */
export const hasServer = serverPath !== undefined;

/** Starts a server on 127.0.0.1. The server stops when this process ends, even by a kill. */
export async function startServer({ args = [], sentinelOf, tls, ...options }: ServerOptions = {}): Promise<Server> {
  const port = options.port ?? (await findClosedPort());
  const own = await realpath(await mkdtemp(join(tmpdir(), 'turnfold-modes-')));
  const dir = options.dir ?? own;
  const config: string[] = [];
  if (sentinelOf !== undefined) {
    await writeFile(join(dir, 'sentinel.conf'), sentinelOf);
    config.push(join(dir, 'sentinel.conf'), '--sentinel');
  }
  const address = ['--bind', '127.0.0.1', ...listPortArgs(port, tls), '--dir', dir];
  const server = launchServer({
    binary: serverPath ?? '',
    args: [...config, '--save', '', ...args, ...address],
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    folder: own,
  });
  const redis = prepareServers(
    new Redis({
      host: '127.0.0.1',
      port,
      ...(options.password !== undefined && { password: options.password }),
      retryStrategy: () => 100,
      maxRetriesPerRequest: null,
      // The test's own connection does not check certificates.
      ...(tls && { tls: { cert: tls.certificate.cert, key: tls.certificate.key, rejectUnauthorized: false } }),
    }),
  );
  redis.on('error', () => undefined);
  const pid = await within(READY_MS, async () => {
    if (server.ended.aborted) throw new Error(`the server did not start: ${server.lastOutput()}`);
    return Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
  });
  return {
    port,
    url: `redis${tls ? 's' : ''}://127.0.0.1:${port}`,
    pid,
    dir,
    redis,
    signal: (name) => void process.kill(pid, name),
    async stop() {
      redis.disconnect();
      await server.stop();
      await rm(own, { recursive: true, force: true });
    },
  };
}

function listPortArgs(port: number, tls: ServerTls | undefined): string[] {
  if (tls === undefined) return ['--port', String(port)];
  const { certificate, caFile, asksClients = false } = tls;
  const files = ['--tls-cert-file', certificate.certFile, '--tls-key-file', certificate.keyFile];
  const clients = ['--tls-ca-cert-file', caFile, '--tls-auth-clients', asksClients ? 'yes' : 'no'];
  return ['--port', '0', '--tls-port', String(port), ...files, ...clients, '--tls-replication', 'yes'];
}

async function within<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = delay(ms, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([run(), late]);
  } finally {
    ended.abort();
  }
}

/** Waits until the condition is true. @param what condition, for the error */
export async function until(what: string, isTrue: () => Promise<boolean> | boolean, ms = READY_MS): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`did not happen within ${ms} ms: ${what}`);
    await delay(20);
  }
}

/** Starts a master with replicas that have completed their first synchronization. */
export async function startReplicated(count: number, args: readonly string[] = [], tls?: ServerTls): Promise<Server[]> {
  const master = await startServer({ args, tls });
  const replicas: Server[] = [];
  for (let index = 0; index < count; index += 1) {
    const follow = ['--replicaof', `127.0.0.1 ${master.port}`, '--repl-diskless-sync-delay', '0'];
    replicas.push(await startServer({ args: [...args, ...follow], tls }));
  }
  await until('replicas follow', async () => (await master.redis.wait(count, 100)) === count);
  return [master, ...replicas];
}
