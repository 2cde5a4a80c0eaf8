import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { callRedis, openConnection } from '../../src/redis/connection.ts';
import { findClosedPort } from '../local-redis/fixture.ts';

test('a Redis connection reports an outage once, even after several failed reconnects', async () => {
  const errors: Error[] = [];
  const redis = openConnection({
    url: `redis://127.0.0.1:${await findClosedPort()}`,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => redis.disconnect());
  for (const _ of [1, 2, 3]) await new Promise((resolve) => redis.once('reconnecting', resolve));
  expect(errors).toMatchObject([{ code: 'redis_unavailable' }]);
});

test('a Redis connection that breaks within a pipeline sends the unanswered command again after its reconnect', async () => {
  const url = inject('redisUrl');
  const redis = openConnection({ url });
  const other = new Redis(url);
  onTestFinished(() => {
    redis.disconnect();
    other.disconnect();
  });
  await redis.ping();
  const id = await redis.client('ID');
  const key = `list-${id}`;
  // Both commands are in one pipeline. The first is answered. The second is still blocked when the connection ends.
  const answers = Promise.all([callRedis(() => redis.exists(key)), callRedis(() => redis.blpop(key, 0))]);
  await expect.poll(async () => String(await other.client('LIST', 'ID', id)), { timeout: 60_000 }).toMatch(/cmd=blpop/);
  await other.client('KILL', 'ID', id);
  await other.rpush(key, 'there');
  expect(await answers).toEqual([0, [key, 'there']]);
});
