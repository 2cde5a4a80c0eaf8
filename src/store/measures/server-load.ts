import type { Redis } from 'ioredis';
import { askAllMasters, askMasters, MEASURED_MS, readField, unlessForbidden } from '../server-info.ts';

/** Of a Cluster's masters the one that is worst off; keys that were thrown away are added up. */
export interface ServerLoad {
  readonly usedBytes: number;
  /** of its limit; absent where no server has one */
  readonly usedRatio?: number;
  /** since the server's start */
  readonly evictedKeys: number;
}

/** Of those that answer; undefined where no server may be asked. */
export async function measureServerLoad(redis: Redis): Promise<ServerLoad | undefined> {
  const { answers: servers } = await askMasters(redis, readLoad, MEASURED_MS);
  if (servers.length === 0) return undefined;
  const numbers = servers.map(({ memory, stats }) => ({
    used: Number(readField(memory, 'used_memory') ?? 0),
    limit: Number(readField(memory, 'maxmemory') ?? 0),
    evicted: Number(readField(stats, 'evicted_keys') ?? 0),
  }));
  const ratios = numbers.flatMap(({ used, limit }) => (limit > 0 ? [used / limit] : []));
  return {
    usedBytes: Math.max(...numbers.map(({ used }) => used)),
    ...(ratios.length > 0 && { usedRatio: Math.max(...ratios) }),
    evictedKeys: numbers.reduce((sum, { evicted }) => sum + evicted, 0),
  };
}

async function readLoad(master: Redis): Promise<{ readonly memory: string; readonly stats: string } | undefined> {
  const [memory, stats] = await Promise.all([readSection(master, 'memory'), readSection(master, 'stats')]);
  return memory === undefined || stats === undefined ? undefined : { memory, stats };
}

function readSection(master: Redis, section: string): Promise<string | undefined> {
  return unlessForbidden(master.info(section));
}

/** Asks every server that takes writes, and waits for the slowest. @throws redis_unavailable, naming the node of a Cluster */
export async function pingServers(redis: Redis): Promise<void> {
  await askAllMasters(redis, (master) => master.ping(), MEASURED_MS);
}
