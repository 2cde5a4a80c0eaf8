import { expect, test } from 'vitest';
import { listNodes, readRedisAddress, showAddress } from '../../src/store/redis/address.ts';

test('readRedisAddress keeps the URL of a single server unchanged', () => {
  expect(readRedisAddress('rediss://u:p@host:6380/2')).toEqual({ kind: 'single', url: 'rediss://u:p@host:6380/2' });
});

test('readRedisAddress parses nodes, master, database and login from a Sentinel URL', () => {
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
    sentinels: { password: 'p@s:x' },
    isTls: false,
  });
});

test('readRedisAddress parses a separate login for Sentinels from the URL query', () => {
  expect(
    readRedisAddress('redis+sentinel://:p@one/main/1?sentinelUsername=look&sentinelPassword=a+b%40'),
  ).toMatchObject({
    password: 'p',
    database: 1,
    sentinels: { username: 'look', password: 'a+b@' },
  });
});

test('readRedisAddress parses nodes and login from a Cluster URL', () => {
  expect(readRedisAddress('rediss+cluster://:secret@one,two:7000')).toEqual({
    kind: 'cluster',
    nodes: [
      { host: 'one', port: 6379 },
      { host: 'two', port: 7000 },
    ],
    password: 'secret',
    isTls: true,
  });
  expect(readRedisAddress('redis+cluster://one/')).toMatchObject({ kind: 'cluster', nodes: [{ host: 'one' }] });
});

test.each([
  ['redis+sentinel://me:hush@one:1,[::1]:2/main', 'redis+sentinel://***@one:1,[::1]:2/main/0'],
  ['rediss+cluster://:hush@one,two:7000', 'rediss+cluster://***@one:6379,two:7000'],
  ['redis+sentinel://one/main?sentinelPassword=hush', 'redis+sentinel://***@one:26379/main/0'],
  ['redis+cluster://one', 'redis+cluster://one:6379'],
  ['redis://me@one/2?password=hush', 'redis://***@one/2'],
])('showAddress hides the password in %s and returns %s', (text, shown) => {
  const address = readRedisAddress(text);
  expect(address && showAddress(address)).toBe(shown);
});

test.each([
  ['redis://one', [{ host: 'one', port: 6379 }]],
  ['redis://[::1]:7', [{ host: '::1', port: 7 }]],
  [
    'redis+cluster://one,two:2',
    [
      { host: 'one', port: 6379 },
      { host: 'two', port: 2 },
    ],
  ],
])('listNodes returns the servers of %s', (text, nodes) => {
  const address = readRedisAddress(text);
  expect(address && listNodes(address)).toEqual(nodes);
});

test.each([
  'redis+sentinel://one',
  'redis+sentinel://one/',
  'redis+sentinel://one/main/x',
  'redis+sentinel://one/main?password=hush',
  'redis+sentinel://one/main?sentinelPassword=hush%',
  'redis+sentinel://one/main?sentinelPassword',
  'redis+cluster://one?sentinelPassword=hush',
  'redis+cluster://',
  'redis+cluster://one,',
  'redis+cluster://one:port',
  // A Cluster has no databases, and Sentinels have the masters.
  'redis+cluster://one,two/0',
  'redis+cluster://one/main',
  'redis+cluster://me:hush%@one',
  'redis+clusters://one',
  'http://one',
  'redis://one,two',
])('readRedisAddress rejects %s', (text) => {
  expect(readRedisAddress(text)).toBeUndefined();
});
