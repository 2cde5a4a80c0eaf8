import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort } from './ports.ts';

const BINARY = 'redis-server';
const REPAIR = 'redis-check-aof';
const READY_MS = 60_000;

export const hasRedisServer = spawnSync(BINARY, ['--version']).status === 0;

/** A Redis server that can be killed and started again on the same data. */
export class MortalRedis {
  readonly port: number;
  readonly #folder: string;
  readonly #fsync: string;
  #server: ChildProcess | undefined;
  #isKept = false;

  private constructor(port: number, folder: string, fsync: string) {
    this.port = port;
    this.#folder = folder;
    this.#fsync = fsync;
  }

  /** @param fsync under `everysec`, a kill during an fsync loses writes that were already acknowledged */
  static async start(fsync: 'always' | 'everysec' = 'always'): Promise<MortalRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'turnfold-chaos-'));
    const redis = new MortalRedis(await findFreePort(), folder, fsync);
    await redis.start();
    return redis;
  }

  get folder(): string {
    return this.#folder;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const own = ['--bind', '127.0.0.1', '--port', String(this.port), '--dir', this.#folder, '--save', ''];
    const durable = ['--appendonly', 'yes', '--appendfsync', this.#fsync, '--maxmemory-policy', 'noeviction'];
    this.#cutHalfTransaction();
    const server = spawn(BINARY, [...own, ...durable], { stdio: 'ignore' });
    this.#server = server;
    const end = (): void => void server.kill('SIGKILL');
    process.once('exit', end);
    server.once('exit', () => process.off('exit', end));
    const client = new Redis(this.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on('error', () => undefined);
    try {
      const deadline = Date.now() + READY_MS;
      while ((await client.ping().catch(() => '')) !== 'PONG') {
        if (Date.now() > deadline) throw new Error(`Redis did not start within ${READY_MS} ms`);
        await sleep(50);
      }
    } finally {
      client.disconnect();
    }
  }

  /**
   * A server that was killed may have written only a part of a script's writes. Redis then cuts the file behind the last whole
   * command, and not before the script. The next start runs that part, which breaks any data (valkey-io/valkey#4342). The
   * tool of Redis cuts before the script. A machine without the tool goes on without it.
   */
  #cutHalfTransaction(): void {
    const manifest = join(this.#folder, 'appendonlydir/appendonly.aof.manifest');
    if (!existsSync(manifest)) return;
    const { status, stdout } = spawnSync(REPAIR, ['--fix', manifest], { input: 'y\n', encoding: 'utf8' });
    if (status !== 0 && status !== null) throw new Error(`redis-check-aof failed: ${stdout}`);
  }

  /** Keeps the data after the server has stopped. */
  keepData(): void {
    this.#isKept = true;
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    if (this.#isKept) return;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
