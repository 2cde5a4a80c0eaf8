import { readConfig } from '../src/config.ts';
import type { LocalRedis } from '../src/local-redis/local-redis.ts';
import { provideRedis } from '../src/local-redis/provide-redis.ts';

/** The Redis that a benchmark runs on: AOF everysec, as in production. Never one that somebody else uses. */
export async function openBenchRedis(): Promise<LocalRedis> {
  readConfig();
  return await provideRedis({
    sources: ['path', 'container', 'package'],
    log: (line) => process.stderr.write(`${line}\n`),
  });
}
