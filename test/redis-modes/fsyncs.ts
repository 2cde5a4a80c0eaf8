import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { Server } from './servers.ts';

const KEY = '{tf}:fsynced';

/** Whether it can say what is on its disk: WAITAOF, since Redis 7.2. */
export async function knowsFsyncs({ redis }: Server): Promise<boolean> {
  return ((await redis.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[])[0] !== null;
}

/**
 * Whether WAITAOF answers no sooner than its fsync. Under `everysec`, Valkey 8.0.1 and 8.1.1 answer within 100 ms, ten times
 * for each fsync (redis/redis#13793, which Redis 8 has).
 * @param server one that appends a file, `everysec`
 */
export async function tellsFsyncsTruly({ redis }: Server): Promise<boolean> {
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
 * Knows from the server itself, and not from what is under test, how much of its append-only file is on disk: writes a
 * number, waits until that is, and writes the next.
 */
export class FsyncWatch {
  readonly #redis: Redis;
  #number = 0;
  /** when the last fsync was told of */
  toldAt = Date.now();

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
        this.toldAt = Date.now();
      }
    } catch {
      // The server is gone, as was to be.
    }
  }

  /** Where in a file the number stands that no fsync was told for: a few bytes into its command. What is behind may be lost. */
  async findEnd(file: string): Promise<number> {
    const number = String(this.#number);
    const at = (await readFile(file)).lastIndexOf(`${KEY}\r\n$${number.length}\r\n${number}\r\n`);
    if (at < 0) throw new Error(`${file} does not hold the number ${number}`);
    return at + 3;
  }
}
