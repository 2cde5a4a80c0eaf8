import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { openConnection } from '../../src/redis/connection.ts';
import { openDatabase } from '../../src/store/database.ts';
import { STORE_SCHEMA } from '../../src/store/keys.ts';

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
    schema: String(STORE_SCHEMA),
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

test('openDatabase refuses a database with a newer schema, and its error asks to update turnfold', async () => {
  await redis.hset('{tf}:database', 'schema', STORE_SCHEMA + 1);
  await expect(openDatabase(redis, { shards: 64 })).rejects.toMatchObject({
    code: 'incompatible_store',
    field: 'schema',
    message: expect.stringMatching(
      new RegExp(`schema ${STORE_SCHEMA + 1}\\..* up to ${STORE_SCHEMA}\\. Update this turnfold`),
    ),
    details: { found: STORE_SCHEMA + 1, supported: STORE_SCHEMA },
  });
  expect(await redis.hget('{tf}:database', 'schema'), 'left as it is').toBe(String(STORE_SCHEMA + 1));
});

test('openDatabase raises the schema number of an older database, unless the caller’s number of shards is wrong', async () => {
  await redis.hset('{tf}:database', { schema: STORE_SCHEMA - 1, shards: 64 });
  await expect(openDatabase(redis, { shards: 256 })).rejects.toMatchObject({ field: 'shards' });
  expect(await redis.hget('{tf}:database', 'schema')).toBe(String(STORE_SCHEMA - 1));
  await Promise.all([1, 2].map(() => openDatabase(redis, { shards: 64 })));
  expect(await redis.hgetall('{tf}:database')).toMatchObject({
    schema: String(STORE_SCHEMA),
    shards: '64',
    counter: '0',
  });
});

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
