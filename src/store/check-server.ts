import type { Redis } from 'ioredis';
import { nameRedisError, outageBecause } from '../domain/redis-errors.ts';
import { probeWrites } from '../redis/prove-writes.ts';
import { checkAllEviction } from './memory.ts';
import { askAllMasters } from './server-info.ts';

/** Below the 800 ms of a check, which then cannot say who was silent. */
const ANSWER_MS = 600;

/**
 * Proves that every server that takes writes answers now, takes them, and keeps what it is given: each may have changed since
 * the start.
 * @throws redis_unavailable, naming the node of a Cluster that is silent; redis_full; incompatible_store
 */
export async function checkServer(redis: Redis): Promise<void> {
  // A worker's connection would keep the question until Redis is back.
  if (redis.status !== 'ready') throw outageBecause('there is no connection to it');
  await Promise.all([checkAllEviction(redis, ANSWER_MS), checkAllWrites(redis)]);
}

/** What a server says is an answer, not silence. */
async function checkAllWrites(redis: Redis): Promise<void> {
  const [refusal] = await askAllMasters(redis, probeWrites, ANSWER_MS);
  if (refusal !== undefined) throw nameRedisError(refusal);
}
