import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { readRedisSource } from '../setup/redis-source.ts';

test.skipIf(process.env['TEST_REDIS'] !== 'container')(
  'a Redis in a container requires its password, and stop ends it (runs with TEST_REDIS=container)',
  async () => {
    const redis = await provideRedis({
      serverArgs: ['--maxmemory', '64mb'],
      ...readRedisSource(),
    });
    onTestFinished(() => redis.stop());
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', String(64 * 1024 ** 2)]);
    client.disconnect();

    const { hostname, port, password } = new URL(redis.url);
    expect(redis.description).not.toContain(password);
    const stranger = provideRedis({ redisUrl: `redis://${hostname}:${port}` });
    await expect(stranger).rejects.toMatchObject({ message: expect.stringContaining('NOAUTH') });

    await redis.stop();
    await redis.stop();
    await expect(provideRedis({ redisUrl: redis.url })).rejects.toMatchObject({ code: 'redis_unreachable' });
  },
  180_000,
);
