import { randomInt } from 'node:crypto';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { Keyspace } from '../../src/store/keys.ts';
import { openConnection } from '../../src/store/redis/connection.ts';
import { openSweepStore } from '../../src/store/sweep.ts';
import { describeBothStores } from './contract/store.ts';

describeBothStores('sweep');

const SHARDS = 256;
/** Shards that are read if one of them has work. */
const AT_ONCE = 16;

test('a sweep of 256 shards takes few commands while few shards have due work', async () => {
  const redis = openConnection({ url: inject('redisUrl') });
  const first = randomInt(1_000, 1_000_000) * SHARDS;
  const shards = Array.from({ length: SHARDS }, (_, index) => first + index);
  const keyspace = new Keyspace(SHARDS);
  vi.spyOn(keyspace, 'shardNumbers').mockReturnValue(shards);
  const due = [first + 1, first + 140];
  const recordOf = (shard: number, at: number): string => `${keyspace.shardPrefix(shard)}tenant:c:c${at}`;
  onTestFinished(async () => {
    await redis.unlink(
      ...due.map(recordOf),
      ...shards.flatMap((shard) => [keyspace.ready(shard), keyspace.sweep(shard)]),
    );
    redis.disconnect();
  });
  const exists = vi.spyOn(redis, 'exists');
  const zrange = vi.spyOn(redis, 'zrange');
  const store = openSweepStore(redis, keyspace);
  expect(await store.sweepDue(Date.now(), 100)).toEqual({ due: [], quarantined: [] });
  expect(exists.mock.calls.length).toBeLessThanOrEqual(2);
  expect(zrange).not.toHaveBeenCalled();
  exists.mockClear();
  for (const [at, shard] of due.entries()) {
    await redis.hset(recordOf(shard, at), 'head', 0);
    await redis.zadd(keyspace.ready(shard), 1, `t|tenant|c${at}`);
  }
  const swept = await store.sweepDue(Date.now(), 100);
  expect(swept.due.map(({ conversation: { id } }) => id).toSorted()).toEqual(['c0', 'c1']);
  expect(exists.mock.calls.length).toBeLessThanOrEqual(2 + 2 * 2 * Math.log2(SHARDS / AT_ONCE));
  expect(zrange.mock.calls.length).toBeLessThanOrEqual(2 * AT_ONCE);
});
