import { expect, test } from 'vitest';
import { readRedisAddress } from '../../src/domain/redis-address.ts';

test('one server keeps its url', () => {
  expect(readRedisAddress('rediss://u:p@host:6380/2')).toEqual({ kind: 'single', url: 'rediss://u:p@host:6380/2' });
});

test('Sentinels name their master, and may name its database and login', () => {
  expect(readRedisAddress('redis+sentinel://u:p%40s:x@one:1,two:80,[::1]:3,four/main.one/4')).toEqual({
    kind: 'sentinel',
    nodes: [
      { host: 'one', port: 1 },
      { host: 'two', port: 80 },
      { host: '::1', port: 3 },
      { host: 'four', port: 26_379 },
    ],
    master: 'main.one',
    database: 4,
    username: 'u',
    password: 'p@s:x',
    isTls: false,
  });
});

test.each([
  'redis+sentinel://one',
  'redis+sentinel://one/',
  'redis+sentinel://one/main/x',
  'redis+cluster://one,two',
  'redis+cluster://',
  'http://one',
  'redis://one,two',
])('%s is no address', (text) => {
  expect(readRedisAddress(text)).toBeUndefined();
});
