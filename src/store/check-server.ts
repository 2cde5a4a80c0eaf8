import type { Redis } from 'ioredis';
import { outage } from '../domain/redis-errors.ts';
import { checkAllEviction } from './memory.ts';

/** Below the 800 ms of a check, which then cannot say who was silent. */
const ANSWER_MS = 600;

/**
 * Proves that every server that takes writes answers now, and keeps what it is given: either may have changed since the start.
 * @throws redis_unavailable, naming the node of a Cluster; incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would keep the question until Redis is back.
  if (redis.status !== 'ready') throw outage(new Error('there is no connection'));
  await checkAllEviction(redis, ANSWER_MS);
}
