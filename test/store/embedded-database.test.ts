import { expect, test } from 'vitest';
import { EmbeddedRedis } from '../../src/store/embedded/server.ts';

const WRITES = [
  ['SET', 'string', 'a', 'PX', '1000'],
  ['HSET', 'hash', 'a', '1'],
  ['RPUSH', 'list', 'a'],
  ['SADD', 'set', 'a'],
  ['ZADD', 'zset', '1', 'a'],
  ['XADD', 'stream', '5-1', 'a', '1'],
] as const;
const CHANGES = [
  ['SET', 'string', 'b'],
  ['HSET', 'hash', 'a', '2'],
  ['RPUSH', 'list', 'b'],
  ['SADD', 'set', 'b'],
  ['ZADD', 'zset', '2', 'a'],
  ['XADD', 'stream', '5-2', 'a', '1'],
] as const;
const READS = [
  ['GET', 'string'],
  ['PTTL', 'string'],
  ['HGETALL', 'hash'],
  ['LRANGE', 'list', '0', '-1'],
  ['SMEMBERS', 'set'],
  ['ZRANGE', 'zset', '0', '-1', 'WITHSCORES'],
  ['XRANGE', 'stream', '-', '+'],
] as const;

test('a copy of an in-process database has all keys, and neither database changes with the other', async () => {
  const redis = await EmbeddedRedis.open();
  const run = (commands: readonly (readonly [string, ...string[]])[]) =>
    commands.map(([name, ...args]) => redis.run(name, args));
  const original = redis.database;
  original.clock = () => 1_000;
  run(WRITES);
  const before = run(READS);

  redis.database = original.copy();
  expect(run(READS)).toEqual(before);
  run(CHANGES);
  for (const [at, reply] of run(READS).entries()) expect(reply, READS[at]?.[1]).not.toEqual(before[at]);

  redis.database = original;
  expect(run(READS)).toEqual(before);
});
