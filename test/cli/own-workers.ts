import { afterAll, beforeAll } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { type Run, runTurnfold } from './run-turnfold.ts';

export interface OwnWorkers {
  readonly redisUrl: string;
  readonly client: OpenClient;
  /** the command line, on the same Redis */
  readonly turnfold: (...args: string[]) => Promise<Run>;
}

/** A Redis, all workers and a client in this process, for the tests of a file. The returned values exist while tests run. */
export function useOwnWorkers(...agents: readonly Agent[]): OwnWorkers {
  let opened: { readonly redisUrl: string; readonly client: OpenClient } | undefined;
  const closers: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const redis = await provideRedis(readRedisSource());
    closers.unshift(() => redis.stop());
    const client = await openClient({ redisUrl: redis.url });
    closers.unshift(() => client.close());
    const workers = await startWorkers({ redisUrl: redis.url, agents, shutdownMs: 2_000, missingAgentMs: 0 });
    closers.unshift(() => workers.close());
    opened = { redisUrl: redis.url, client };
  });
  afterAll(async () => {
    for (const close of closers) await close();
  });
  const get = () => {
    if (opened === undefined) throw new Error('no test runs yet');
    return opened;
  };
  return {
    get redisUrl() {
      return get().redisUrl;
    },
    get client() {
      return get().client;
    },
    turnfold: (...args) => runTurnfold(args, { env: { REDIS_URL: get().redisUrl } }),
  };
}
