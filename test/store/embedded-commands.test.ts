import * as fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { EmbeddedRedis } from '../../src/store/embedded/server.ts';
import { openSuiteRedis } from './open-redis.ts';

const { redis, close } = openSuiteRedis();
const embedded = (await EmbeddedRedis.open()).connect();
afterAll(async () => {
  embedded.disconnect();
  await close();
});

type Word = fc.Arbitrary<string | Buffer>;
const key = fc.constantFrom('{d}a', '{d}b', '{d}c');
/** Ranges of members are defined for equal scores only. */
const equal = fc.constant('{d}equal');
const value: Word = fc.oneof(
  fc.constantFrom('1', '7', '-3', 'x', 'ü', '', '1.5', 'a*b'),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);
const field = fc.constantFrom('f', 'g', 'h');
const index = fc.integer({ min: -4, max: 4 }).map(String);
const score = fc.oneof(index, fc.constantFrom('1.5', '-inf', '+inf', '(2', 'no'));
const lex = fc.constantFrom('-', '+', '[f', '(f', '[g', '(h');
const count = fc.constantFrom('1', '2', '10');
const id = fc.constantFrom('-', '+', '5', '5-1', '(5-1', '7-0');

const COMMANDS: readonly (readonly [string, ...Word[]])[] = [
  ['EXISTS', key, key],
  ['DEL', key],
  ['UNLINK', key, key],
  ['TYPE', key],
  ['RENAME', key, key],
  ['COPY', key, key],
  ['PERSIST', key],
  ['GET', key],
  ['MGET', key, key],
  ['SET', key, value],
  ['SET', key, value, fc.constantFrom('NX', 'XX', 'KEEPTTL', 'GET')],
  ['STRLEN', key],
  ['INCR', key],
  ['INCRBY', key, value],
  ['HSET', key, field, value],
  ['HSET', key, field, value, field],
  ['HMSET', key, field, value, field, value],
  ['HSETNX', key, field, value],
  ['HGET', key, field],
  ['HMGET', key, field, field],
  ['HGETALL', key],
  ['HKEYS', key],
  ['HVALS', key],
  ['HLEN', key],
  ['HEXISTS', key, field],
  ['HSTRLEN', key, field],
  ['HDEL', key, field, field],
  ['HINCRBY', key, field, value],
  ['LLEN', key],
  ['LINDEX', key, index],
  ['LRANGE', key, index, index],
  ['LPOS', key, value],
  ['RPUSH', key, value, value],
  ['LPUSH', key, value, value],
  ['LPOP', key],
  ['LPOP', key, count],
  ['RPOP', key],
  ['RPOPLPUSH', key, key],
  ['LSET', key, index, value],
  ['LINSERT', key, fc.constantFrom('BEFORE', 'after'), value, value],
  ['LREM', key, index, value],
  ['LTRIM', key, index, index],
  ['SADD', key, value, value],
  ['SREM', key, value],
  ['SISMEMBER', key, value],
  ['SCARD', key],
  ['ZADD', key, score, field],
  ['ZADD', key, fc.constantFrom('NX', 'XX', 'GT', 'LT'), 'CH' as never, score, field, score, field],
  ['ZREM', key, field],
  ['ZSCORE', key, field],
  ['ZMSCORE', key, field, field],
  ['ZINCRBY', key, index, field],
  ['ZCARD', key],
  ['ZRANK', key, field],
  ['ZCOUNT', key, score, score],
  ['ZADD', equal, fc.constant('0'), field],
  ['ZLEXCOUNT', equal, lex, lex],
  ['ZRANGE', key, index, index],
  ['ZRANGE', key, index, index, 'REV' as never, 'WITHSCORES' as never],
  ['ZRANGE', key, score, score, 'BYSCORE' as never, 'LIMIT' as never, index, index],
  ['ZREVRANGE', key, index, index],
  ['ZRANGEBYSCORE', key, score, score, 'WITHSCORES' as never],
  ['ZREVRANGEBYSCORE', key, score, score, 'LIMIT' as never, '0' as never, count],
  ['ZRANGEBYLEX', equal, lex, lex],
  ['ZREMRANGEBYSCORE', key, score, score],
  ['ZREMRANGEBYRANK', key, index, index],
  ['ZPOPMIN', key],
  ['ZPOPMAX', key, count],
  ['XADD', key, fc.constantFrom('5-1', '6-*', '7', '9-2'), field, value],
  ['XADD', key, 'NOMKSTREAM' as never, 'MAXLEN' as never, count, '9-*' as never, field, value],
  ['XLEN', key],
  ['XRANGE', key, id, id],
  ['XREVRANGE', key, id, id, 'COUNT' as never, count],
  ['XTRIM', key, 'MAXLEN' as never, count],
  ['XDEL', key, fc.constantFrom('5-1', '7-0')],
  ['GET'],
  ['NOSUCH', key],
];

const anyCommand = fc
  .constantFrom(...COMMANDS)
  .chain(([name, ...words]) =>
    fc.tuple(fc.constant(name), ...words.map((word) => (typeof word === 'string' ? fc.constant(word) : word))),
  );

async function run(client: Redis, [name, ...args]: readonly (string | Buffer)[]): Promise<unknown> {
  try {
    const reply = await client.callBuffer(String(name), ...args);
    // The two servers speak two versions of the protocol, which nest pairs differently.
    return Array.isArray(reply) ? reply.flat(Number.POSITIVE_INFINITY) : reply;
  } catch {
    // Redis may name another one of two faults.
    return 'refused';
  }
}

test('each command of the in-process Redis replies as a Redis server does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyCommand, { minLength: 1, maxLength: 40 }), async (commands) => {
      for (const client of [redis, embedded]) await client.unlink('{d}a', '{d}b', '{d}c', '{d}equal');
      for (const command of commands)
        expect(await run(embedded, command), command.join(' ')).toEqual(await run(redis, command));
    }),
    { numRuns: 300 },
  );
});

test('CLIENT LIST lists the connections with the given ids, and refuses what is no id, as Redis does', async () => {
  for (const server of [redis, embedded]) {
    const others = [server.duplicate(), server.duplicate()];
    onTestFinished(() => others.forEach((other) => other.disconnect()));
    const ids = await Promise.all([server, ...others].map((one) => one.client('ID')));
    const list = async (...args: string[]) =>
      [...String(await server.call('CLIENT', 'LIST', ...args)).matchAll(/^id=(\d+) /gm)].map(([, found]) =>
        Number(found),
      );
    expect(await list()).toEqual(expect.arrayContaining(ids));
    expect(await list('ID', String(ids[1]), '999999')).toEqual([ids[1]]);
    expect(await list('id', ...ids.map(String))).toEqual(ids);
    await expect(list('ID', 'x')).rejects.toThrow('ERR Invalid client ID');
    await expect(list('ID')).rejects.toThrow('ERR syntax error');
    await expect(list('NAME', 'x')).rejects.toThrow('ERR syntax error');
  }
});
