import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** One Redis for all integration suites of a run: `inject('redisUrl')`. */
    redisUrl: string;
  }
}

/**
 * vitest globalSetup. By default the first source that this machine has; TEST_REDIS=container forces a container and
 * ignores REDIS_URL.
 *
 * All suites share this Redis, and with REDIS_URL it may hold somebody's data. So a suite works under key prefixes of
 * its own run (a fresh tenant or queue prefix), removes what it made, and never calls FLUSHDB or FLUSHALL.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const isContainerForced = process.env['TEST_REDIS'] === 'container';
  const redis = await provideRedis({
    ...(isContainerForced ? { sources: ['container'] } : { redisUrl: process.env['REDIS_URL'] }),
    log: (line) => project.vitest.logger.log(`redis: ${line}`),
  });
  project.provide('redisUrl', redis.url);
  return () => redis.stop();
}
