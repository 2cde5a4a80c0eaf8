import { expect, test } from 'vitest';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, newConversation } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

/** Ids have no blank, kinds are `t`, `p`, `d` and `r`, and a scheduled turn names its turn. */
const GARBAGE = ['', 'x', 't|_', 't|a b|c', 'z|_|c1', 'd|_|c1', 't|_|c1|t1', `t|_|${'c'.repeat(500)}`, '\u0000\n{}'];

/** Creates a conversation with a due turn. Its shard has no other entries. */
async function makeDue(): Promise<{ shard: number; id: string }> {
  const conversation = newConversation();
  await acceptAndClaim(store, conversation, 't1');
  const shard = keyspace.shardOf(conversation);
  await redis.unlink(keyspace.sweep(shard), keyspace.ready(shard), keyspace.quarantined(shard));
  await redis.zadd(keyspace.ready(shard), 1, `t|_|${conversation.id}`);
  return { shard, id: conversation.id };
}

test.each([
  ['ready', 'ready'],
  ['idle', 'idle'],
  ['openPasses', 'passes'],
  ['failed', 'failed'],
] as const)(
  'a sweep moves unreadable members of the Redis set %s to the quarantine, and still returns the due turns',
  async (keyOf, set) => {
    const { shard, id } = await makeDue();
    // Tenant, id and turn may have any of these names.
    const garbage = GARBAGE.filter((member) => keyOf !== 'failed' || !/^[dz]\|/.test(member));
    for (const member of garbage) await redis.zadd(keyspace[keyOf](shard), 5, member);
    const found: unknown[] = [];
    const due: string[] = [];
    // No worker takes members from this set, so each sweep checks a different part of it.
    await expect
      .poll(
        async () => {
          await redis.unlink(keyspace.sweep(shard));
          const sweep = await store.sweepShards([shard], 100);
          expect(sweep.failure).toBeUndefined();
          due.push(...sweep.due.map(({ conversation }) => conversation.id));
          found.push(...sweep.quarantined);
          return found.length;
        },
        { timeout: 60_000, interval: 100 },
      )
      .toBe(garbage.length);
    expect(due).toContain(id);
    expect(found).toEqual(
      expect.arrayContaining(
        garbage.map((name) => ({ shard, set, name, why: 'the entry names no turn, pass or conversation' })),
      ),
    );
    expect(await redis.zcard(keyspace[keyOf](shard))).toBe(keyOf === 'ready' ? 1 : 0);
    const kept = await redis.hkeys(keyspace.quarantined(shard));
    expect(kept.toSorted()).toEqual(garbage.map((name) => `${set}|${name}`).toSorted());
    expect((await store.measureShards()).quarantined).toBeGreaterThanOrEqual(garbage.length);
  },
);

test.each(['ready', 'idle', 'openPasses', 'failed', 'waiting', 'quarantined'] as const)(
  'a sweep renames the key of the set %s if its Redis type is wrong, and still returns the due turns',
  async (keyOf) => {
    const { shard, id } = await makeDue();
    const key = keyspace[keyOf](shard);
    await redis.unlink(key);
    await redis.set(key, 'garbage');
    expect((await store.measureShards()).openPasses, 'a measure goes on').toBeGreaterThanOrEqual(0);
    await store.sweepShards([shard], 100);
    await redis.zadd(keyspace.ready(shard), 1, `t|_|${id}`, 1, 'x');
    await redis.unlink(keyspace.sweep(shard));
    const { due, failure } = await store.sweepShards([shard], 100);
    expect(failure).toBeUndefined();
    expect(due.map(({ conversation }) => conversation.id)).toEqual([id]);
    const moved = await redis.keys(`${key}:bad:*`);
    expect(await Promise.all(moved.map((name) => redis.get(name)))).toEqual(['garbage']);
    await redis.unlink(...moved);
  },
);

test.each([
  ['another type', (key: string) => redis.unlink(key).then(async () => void (await redis.set(key, 'x')))],
  ['a count that is no number', (key: string) => redis.hset(key, 'sweeps', 'x').then(() => undefined)],
])('a sweep moves the entry of a turn to the quarantine if its conversation’s record has %s', async (_, corrupt) => {
  const bad = newConversation();
  await acceptAndClaim(store, bad, 't1');
  const shard = keyspace.shardOf(bad);
  await redis.unlink(keyspace.sweep(shard), keyspace.ready(shard));
  await corrupt(keyspace.key(bad, 'c'));
  await redis.zadd(keyspace.ready(shard), 1, `t|_|${bad.id}`);
  const { due, quarantined: setAside, failure } = await store.sweepShards([shard], 100);
  expect([due, failure]).toEqual([[], undefined]);
  const why = expect.stringContaining(`corrupt ${keyspace.key(bad, 'c')}`);
  expect(setAside).toEqual([{ shard, set: 'ready', name: `t|_|${bad.id}`, why }]);
});

test('a sweep returns the due turns of a shard even if the key that claims the shard’s sweep has the wrong Redis type', async () => {
  const { shard, id } = await makeDue();
  await redis.rpush(keyspace.sweep(shard), 'x');
  const { due } = await store.sweepShards([shard], 100);
  expect(due.map(({ conversation }) => conversation.id)).toEqual([id]);
});

test('readLog returns the messages up to the end of the log if the requested range ends at 9e15', async () => {
  const conversation = newConversation();
  await acceptAndClaim(store, conversation, 't1');
  const entries = await store.readLog(conversation, [{ from: 1, to: 9e15 }]);
  expect(entries.map(({ seq }) => seq)).toEqual([1]);
});

test('the error of readContext names the Redis key and field if the last message’s number is wrong or a log entry is missing', async () => {
  const conversation = newConversation();
  await acceptAndClaim(store, conversation, 't1');
  const [record, log] = [keyspace.key(conversation, 'c'), keyspace.key(conversation, 'log')];
  const refused = async (): Promise<unknown> => {
    const error: unknown = await store.readContext(conversation).catch((failure: unknown) => failure);
    return isTurnfoldError(error, 'corrupt_record') ? error.details : error;
  };
  await redis.hset(record, 'head', '9000000000000000');
  expect(await refused()).toEqual({ key: record, field: 'head' });
  await redis.hset(record, 'head', '3');
  expect(await refused()).toEqual({ key: log, field: '2' });
});
