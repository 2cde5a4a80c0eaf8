import type { ProvideRedisOptions } from '../../src/host/local-redis/provide-redis.ts';

/**
 * Chooses the source of Redis for `provideRedis`. TEST_REDIS=container forces a container with the image of
 * TEST_REDIS_IMAGE, if that is set. Otherwise the first available source is used.
 */
export function readRedisSource(): Pick<ProvideRedisOptions, 'sources' | 'container'> {
  if (process.env['TEST_REDIS'] !== 'container') return {};
  const image = process.env['TEST_REDIS_IMAGE'];
  return { sources: ['container'], ...(image && { container: { image } }) };
}
