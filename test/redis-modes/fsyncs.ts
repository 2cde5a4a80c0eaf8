import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { Server } from './servers.ts';

const KEY = '{tf}:fsynced';

/** True if the server knows WAITAOF, since Redis 7.2. */
export async function knowsFsyncs({ redis }: Server): Promise<boolean> {
  return ((await redis.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[])[0] !== null;
}

/** True if WAITAOF waits for an fsync. */
export async function waitsForFsync({ redis }: Server): Promise<boolean> {
  const write = async (): Promise<number> => {
    const startedAt = Date.now();
    await redis.set(KEY, startedAt);
    await redis.call('WAITAOF', 1, 0, 0);
    return Date.now() - startedAt;
  };
  await write();
  return (await write()) > EARLY_MS;
}

const EARLY_MS = 500;

/**
 * Finds out how much of the server's append-only file is on disk. It writes a number, waits until the server reports that
 * number on disk, and then writes the next one.
 */
export class FsyncWatch {
  readonly #redis: Redis;
  #number = 0;
  /** Time of the last confirmed fsync. */
  fsyncedAt = Date.now();

  constructor({ url }: Server) {
    this.#redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
    this.#redis.on('error', () => undefined);
  }

  async run(): Promise<void> {
    try {
      for (;;) {
        this.#number += 1;
        await this.#redis.set(KEY, this.#number);
        await this.#redis.call('WAITAOF', 1, 0, 0);
        this.fsyncedAt = Date.now();
      }
    } catch {
      // The test has killed the server.
    }
  }

  /** Offset in a file of the number without a confirmed fsync, a few bytes into its command. Later bytes may be lost. */
  async findEnd(file: string): Promise<number> {
    const number = String(this.#number);
    const at = (await readFile(file)).lastIndexOf(`${KEY}\r\n$${number.length}\r\n${number}\r\n`);
    if (at < 0) throw new Error(`${file} does not hold the number ${number}`);
    return at + 3;
  }
}
