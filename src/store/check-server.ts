import type { Redis } from 'ioredis';
import { outage } from '../domain/redis-errors.ts';
import { checkEviction } from './memory.ts';

/**
 * Proves that the server answers now, and keeps what it is given: either may have changed since the start.
 * @throws redis_unavailable, incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would keep the question until Redis is back.
  if (redis.status !== 'ready') throw outage(new Error('there is no connection'));
  await checkEviction(redis);
}
