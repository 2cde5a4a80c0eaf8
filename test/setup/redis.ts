import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { readRedisSource } from './redis-source.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One Redis for all integration suites of a run: `inject('redisUrl')`. */
    redisUrl: string;
  }
}

/**
 * vitest globalSetup. By default the first source that this machine has; TEST_REDIS=container forces a container, of
 * TEST_REDIS_IMAGE where that is set, and ignores REDIS_URL.
 *
 * All suites share this Redis, and with REDIS_URL it may hold somebody's data. So a suite works under key prefixes of
 * its own run (a fresh tenant or queue prefix), removes what it made, and never calls FLUSHDB or FLUSHALL.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const source = readRedisSource();
  const redis = await provideRedis({
    ...(source.sources === undefined ? { redisUrl: process.env['REDIS_URL'] } : source),
    log: (line) => project.vitest.logger.log(`redis: ${line}`),
  });
  project.provide('redisUrl', redis.url);
  return () => redis.stop();
}
