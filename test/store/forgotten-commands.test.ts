import { once } from 'node:events';
import { expect, inject, onTestFinished, test } from 'vitest';
import { callRedis, duplicateConnection, openConnection } from '../../src/store/redis/connection.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';

const own = (url: string) => openConnection({ url });
const copied = (url: string) => {
  const original = openConnection({ url, failsFast: true });
  onTestFinished(() => original.disconnect());
  const copy = { lazyConnect: false, maxRetriesPerRequest: null, enableOfflineQueue: true };
  return duplicateConnection(original, copy).on('error', () => undefined);
};

test.each([
  ['a connection', own],
  ['a copied connection', copied],
])('%s that is cut before it is ready still answers the commands sent before the cut', async (_, open) => {
  const proxy = await FaultyProxy.listen(Number(new URL(inject('redisUrl')).port));
  onTestFinished(() => proxy.close());
  proxy.swallow();
  const redis = open(proxy.url);
  onTestFinished(() => redis.disconnect());
  await once(redis, 'connect');
  // ioredis sends these commands before the connection is ready.
  const calls = [() => redis.client('ID'), () => redis.info('server'), () => redis.call('CLIENT', 'LIST', 'ID', '1')];
  const ends = calls.map(async (call) => typeof (await callRedis<unknown>(call)));
  proxy.cut();
  for (const answer of ['one', 'two']) expect(await redis.echo(answer)).toBe(answer);
  const never = Promise.resolve('forgotten');
  expect(await Promise.all(ends.map((end) => Promise.race([end, never])))).toEqual(['number', 'string', 'string']);
});
