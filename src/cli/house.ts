import { type OpenClient, openClient } from '../client/index.ts';
import type { Config } from '../config.ts';
import type { LocalRedis } from '../local-redis/local-redis.ts';
import { provideRedis } from '../local-redis/provide-redis.ts';
import { ROLES, startWorkers, type Workers, type WorkersOptions } from '../runtime/start-workers.ts';
import type { Output } from './output.ts';

/** Everything in one process: what a person needs to try turnfold. */
export interface House {
  readonly redis: LocalRedis;
  readonly workers: Workers;
  readonly client: OpenClient;
}

export interface HouseOptions extends Pick<WorkersOptions, 'agents' | 'policy' | 'metrics' | 'onEvent'> {
  readonly config: Config;
  readonly output: Output;
}

/** Opens a Redis (the given one, or one of its own), all workers and a client; closes them in turn, however `use` ends. */
export async function withHouse<T>(options: HouseOptions, use: (house: House) => Promise<T>): Promise<T> {
  const { config, output, ...parts } = options;
  const { shards, queueShards, concurrency, shutdownMs } = config;
  const redis = await provideRedis({ redisUrl: config.redisUrl, log: output.note });
  const settings = { redisUrl: redis.url, shards, queueShards };
  const closers: (() => Promise<unknown>)[] = [() => redis.stop()];
  try {
    const workers = await startWorkers({ ...settings, ...parts, concurrency, shutdownMs, roles: ROLES });
    closers.unshift(() => workers.close());
    const client = await openClient(settings);
    closers.unshift(() => client.close());
    return await use({ redis, workers, client });
  } finally {
    for (const close of closers) await close();
  }
}
