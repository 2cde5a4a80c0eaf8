import { beforeEach, expect, test } from 'vitest';
import { bindLease } from '../../src/store/lease.ts';
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

test('a lease of another type is taken over once it has lapsed', async () => {
  await redis.rpush(key, 'x');
  await redis.pexpire(key, 50);
  await expect.poll(() => hold('a', 60_000)).toEqual(expect.any(Number));
});
