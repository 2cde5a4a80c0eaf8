import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { openQueueWorkers } from '../../src/jobs/bullmq/queue-workers.ts';
import { readRedisSource } from '../setup/redis-source.ts';

it('a process that fails to open its queue workers leaves no Redis connection open', async () => {
  const server = await provideRedis(readRedisSource());
  onTestFinished(() => server.stop());
  const workers = openQueueWorkers({
    url: server.url,
    shards: 2,
    roles: { turn: { handler: () => Promise.reject(new Error('not called')), concurrency: Number.NaN } },
    onError: () => undefined,
    deadlineMs: 100,
  });
  await expect(workers.start()).rejects.toThrow('concurrency');
  // Redis accepts connections in their order. When this one is accepted, all earlier connections have been accepted as
  // well.
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const listConnections = async (): Promise<string[]> =>
    String(await redis.client('LIST'))
      .trim()
      .split('\n');
  await expect.poll(listConnections, { timeout: 60_000 }).toHaveLength(1);
});
