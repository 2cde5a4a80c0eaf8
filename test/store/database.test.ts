import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { SCHEMAS } from '../../src/store/keys.ts';
import { openConnection } from '../../src/store/redis/connection.ts';

/** A separate key prefix on the Redis of the test run, so that this file has its own database. */
const redis = openConnection({ url: inject('redisUrl') }).duplicate({ keyPrefix: `database.${randomUUID()}:` });
afterEach(() => redis.unlink('{tf}:database'));
afterAll(() => redis.quit());

test('if many processes open a new database at once, only one of them creates the database', async () => {
  const opened = await Promise.all([1, 2, 3].map(() => openDatabase(redis, { shards: 64 })));
  expect(opened.map(({ keyspace }) => keyspace.shards)).toEqual([64, 64, 64]);
  const { id } = opened[0]?.identity ?? {};
  expect(opened.map(({ identity }) => identity)).toEqual([1, 2, 3].map(() => ({ id, counter: 0 })));
  expect(await redis.hgetall('{tf}:database')).toEqual({
    schema: String(SCHEMAS.current),
    shards: '64',
    id,
    counter: '0',
  });
});

test('openDatabase refuses a number of shards that differs from the database’s, and the error names the database’s number', async () => {
  await openDatabase(redis, { shards: 64 });
  await expect(openDatabase(redis, { shards: 256 })).rejects.toMatchObject({
    code: 'incompatible_store',
    field: 'shards',
    message: expect.stringContaining('Set shards to 64'),
    details: { found: 64, wanted: 256 },
  });
  expect(await redis.hget('{tf}:database', 'shards')).toBe('64');
});

/** Returns a connection to the Redis of the test run that reports the given version. */
function sayVersion(version: string): typeof redis {
  return new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === 'info') {
        return async (section: string) =>
          (await target.info(section)).replace(/^redis_version:.*$/m, `redis_version:${version}\r`);
      }
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

test('openDatabase refuses a Redis that is too old, before it sends a script', async () => {
  await expect(openDatabase(sayVersion('6.2.14'), { shards: 64 })).rejects.toMatchObject({
    code: 'incompatible_store',
    field: 'redis_version',
    message: expect.stringContaining('6.2.14, but turnfold needs 7.0'),
    details: { found: '6.2.14', wanted: '7.0' },
  });
  expect(await redis.exists('{tf}:database')).toBe(0);
  await openDatabase(sayVersion('7.0.0'), { shards: 64 });
});

const RANGE = { oldest: 4, current: 6 };

test.each([
  ['7', /schema 7, written by a newer turnfold\..* only schemas 4 to 6\. Update this program\. Nothing was changed/],
  ['3', /schema 3, which .* cannot migrate\..* First run a release that supports schema 3 and a later one/],
  ['0', /schema 0, which .* cannot migrate/],
  ['x', /no readable schema number.* Restore the record from a backup/],
  ['', /no readable schema number/],
])(
  'a database with schema "%s" is refused by a program of schemas 4 to 6, and stays as it is',
  async (schema, message) => {
    const stored = schema === '' ? { shards: '64' } : { schema, shards: '64' };
    await redis.hset('{tf}:database', stored);
    const opening = openDatabase(redis, { shards: 64 }, RANGE);
    await expect(opening).rejects.toMatchObject({ code: 'incompatible_store', field: 'schema' });
    await expect(opening).rejects.toThrow(message);
    expect(await redis.hgetall('{tf}:database')).toEqual(stored);
  },
);

test('a database that openDatabase refuses gets no missing field filled in', async () => {
  await redis.hset('{tf}:database', 'schema', '7');
  await expect(openDatabase(redis, { shards: 64 }, RANGE)).rejects.toMatchObject({ field: 'schema' });
  expect(await redis.hgetall('{tf}:database')).toEqual({ schema: '7' });
  await redis.hset('{tf}:database', 'schema', '6');
  await expect(openDatabase(redis, { shards: 64 }, RANGE)).rejects.toMatchObject({ field: 'shards' });
  expect(await redis.hgetall('{tf}:database')).toEqual({ schema: '6' });
});

test.each([4, 5])(
  'openDatabase raises schema %i of a database to 6, unless the number of shards is wrong',
  async (schema) => {
    await redis.hset('{tf}:database', { schema, shards: 64 });
    await expect(openDatabase(redis, { shards: 256 }, RANGE)).rejects.toMatchObject({ field: 'shards' });
    expect(await redis.hget('{tf}:database', 'schema')).toBe(String(schema));
    await Promise.all([1, 2].map(() => openDatabase(redis, { shards: 64 }, RANGE)));
    expect(await redis.hgetall('{tf}:database')).toMatchObject({ schema: '6', shards: '64', counter: '0' });
  },
);

test('openDatabase refuses a Redis URL whose database number does not exist', async () => {
  const elsewhere = openConnection({ url: new URL('/99', inject('redisUrl')).href });
  const refusal = expect.objectContaining({ code: 'invalid_config', field: 'redisUrl' }) as Error;
  await expect(openDatabase(elsewhere, { shards: 64 })).rejects.toThrow(refusal);
  await elsewhere.quit();
});

test.each(['/one', '/-1', '/1/2'])('openConnection refuses a Redis URL with the path %s', (path) => {
  const refusal = expect.objectContaining({ code: 'invalid_config', field: 'redisUrl' }) as Error;
  expect(() => openConnection({ url: `redis://:s3cret@127.0.0.1${path}` })).toThrow(refusal);
});
