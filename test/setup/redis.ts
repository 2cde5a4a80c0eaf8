import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { readRedisSource } from './redis-source.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One Redis for all integration suites of a run: `inject('redisUrl')`. */
    redisUrl: string;
  }
}

/**
 * Global setup of vitest. It uses the first available source of Redis. TEST_REDIS=container forces a container with the
 * image of TEST_REDIS_IMAGE, if that is set, and ignores REDIS_URL.
 *
 * All suites share this Redis. With REDIS_URL it may contain foreign data. Each suite uses key prefixes of its own run,
 * i.e. a fresh tenant or queue prefix. It removes its keys and never calls FLUSHDB or FLUSHALL.
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
