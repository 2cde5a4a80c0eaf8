import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { Keyspace } from '../../src/store/keys.ts';
import { findKeyOfOtherType } from '../../src/store/records.ts';

test('the search of a sweep for a key of the wrong Redis type skips keys that an earlier sweep renamed', async () => {
  const redis = new Redis(inject('redisUrl'));
  const keyspace = new Keyspace(4);
  const conversation = { tenant: 'set-aside', id: 'search' };
  const keys = keyspace.conversation(conversation);
  const index = keyspace.key(conversation, 'ix');
  const wrong = keyspace.summary(conversation, 'a');
  const names = Array.from({ length: 20 }, (_, number) => `${wrong}:bad:${number}`);
  try {
    for (const name of [...names, wrong]) await redis.rpush(name, 'x');
    const suffixes = ['', ...names.map((_, number) => `:bad:${number}`)];
    await redis.hset(index, Object.fromEntries(suffixes.map((suffix) => [`sum:a${suffix}`, ''])));
    expect(await findKeyOfOtherType(redis, keys)).toBe(wrong);
    await redis.unlink(wrong);
    expect(await findKeyOfOtherType(redis, keys)).toBeUndefined();
  } finally {
    await redis.unlink(...names, wrong, index);
    redis.disconnect();
  }
});

test('the search finds the damaged key of a script whose keys belong to no conversation', async () => {
  const redis = new Redis(inject('redisUrl'));
  const keyspace = new Keyspace(4, 'damaged');
  const keys = { outbox: keyspace.outbox(0), positions: keyspace.outboxPositions(0) };
  try {
    await redis.zadd(keys.outbox, 1, 'member');
    await redis.set(keys.positions, 'damaged');
    expect(await findKeyOfOtherType(redis, keys)).toBe(keys.positions);
  } finally {
    await redis.unlink(...Object.values(keys));
    redis.disconnect();
  }
});
