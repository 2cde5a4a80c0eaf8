import type { ProvideRedisOptions } from '../../src/local-redis/provide-redis.ts';

/**
 * What `provideRedis` is asked for by suites: TEST_REDIS=container forces a container, of the image that TEST_REDIS_IMAGE
 * names where it is set; else the first source that this machine has.
 */
export function readRedisSource(): Pick<ProvideRedisOptions, 'sources' | 'container'> {
  if (process.env['TEST_REDIS'] !== 'container') return {};
  const image = process.env['TEST_REDIS_IMAGE'];
  return { sources: ['container'], ...(image && { container: { image } }) };
}
