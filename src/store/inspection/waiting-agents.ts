import type { Redis } from 'ioredis';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { decodeDueEntry } from '../sweep/due-entry.ts';

/** Of one shard, those that are due first: who asks wants to know of whom there are any. */
const MOST_ENTRIES = 100;

/** Agents of conversations that a worker has to look at, now or later. */
export async function listWaitingAgents(redis: Redis, keyspace: Keyspace): Promise<string[]> {
  const readShard = async (shard: number): Promise<(string | null)[]> => {
    const entries = await callRedis(() => redis.zrange(keyspace.ready(shard), '0', String(MOST_ENTRIES - 1)));
    const keys = entries.map((entry) => keyspace.key(decodeDueEntry(entry).conversation, 'c'));
    return await Promise.all(keys.map((key) => callRedis(() => redis.hget(key, 'agent'))));
  };
  const agents = await Promise.all(keyspace.shardNumbers().map(readShard));
  return [...new Set(agents.flat().filter((agent) => agent !== null))];
}
