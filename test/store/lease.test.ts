import { Redis } from 'ioredis';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { bindLease } from '../../src/store/lease.ts';
import { openSweepStore } from '../../src/store/sweep.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { openSuiteStore } from './open-redis.ts';

const { redis, keyspace } = openSuiteStore();
const key = keyspace.sweeping();
const hold = bindLease(redis, keyspace, key);

beforeEach(async () => {
  await redis.del(key);
});

test('a lease lapses after its time, and another worker gets it', async () => {
  expect(await hold('a', 1)).toEqual(expect.any(Number));
  await expect.poll(() => hold('b', 60_000)).toEqual(expect.any(Number));
  expect(await hold('a', 60_000)).toBeUndefined();
});

test.each<[string, () => Promise<unknown>]>([
  ['has no expiry', () => redis.set(key, 'x')],
  ['has another type and no expiry', () => redis.rpush(key, 'x')],
])('a lease is taken over if its key %s', async (_, corrupt) => {
  await corrupt();
  expect(await hold('a', 60_000)).toEqual(expect.any(Number));
});

test('a lease key of the wrong type can be taken over once it has expired', async () => {
  await redis.rpush(key, 'x');
  await redis.pexpire(key, 50);
  await expect.poll(() => hold('a', 60_000)).toEqual(expect.any(Number));
});

test('every process may sweep while the server with the lease to sweep does not answer', async () => {
  const { port = 0, password } = redis.options;
  const proxy = await FaultyProxy.listen(port);
  const client = new Redis(proxy.url, { ...(password && { password }) });
  client.on('error', () => undefined);
  onTestFinished(async () => {
    client.disconnect();
    await proxy.close();
  });
  const sweeps = openSweepStore(client, keyspace);
  expect(await hold('other', 60_000)).toEqual(expect.any(Number));
  expect(await sweeps.holdSweeping('a', 60_000)).toBeUndefined();
  proxy.swallow();
  expect(await sweeps.holdSweeping('a', 60_000)).toBe(Number.POSITIVE_INFINITY);
});

test('a sweep of due shards sets aside a list of due work that it cannot read', async () => {
  const [shard = 0] = keyspace.shardNumbers();
  await redis.set(keyspace.ready(shard), 'x');
  onTestFinished(async () => void (await redis.del(keyspace.ready(shard))));
  const { quarantined } = await openSweepStore(redis, keyspace).sweepDue(0, 100);
  expect(quarantined).toMatchObject([{ shard }]);
});
