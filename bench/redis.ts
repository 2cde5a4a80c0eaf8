import { readConfig } from '../src/host/config.ts';
import type { LocalRedis } from '../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../src/host/local-redis/provide-redis.ts';
import { startCluster } from '../test/store/redis-cluster.ts';

/** Starts a Redis for the benchmark alone. */
export async function openBenchRedis(): Promise<LocalRedis> {
  readConfig();
  return await provideRedis({
    sources: ['path', 'container', 'package'],
    log: (line) => process.stderr.write(`${line}\n`),
  });
}

export interface BenchServers {
  readonly url: string;
  /** URL of each server. */
  readonly servers: readonly string[];
  stop(): Promise<void>;
}

/** @param masters number of masters of a Redis Cluster without replicas. 0 starts a single server */
export async function openBenchServers(masters: number): Promise<BenchServers> {
  if (masters === 0) {
    const redis = await openBenchRedis();
    return { url: redis.url, servers: [redis.url], stop: () => redis.stop() };
  }
  const { nodes, stop } = await startCluster(masters);
  return { url: `redis+cluster://${nodes.map((url) => new URL(url).host).join(',')}`, servers: nodes, stop };
}
