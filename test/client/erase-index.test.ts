import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers();
});

afterAll(async () => fixture.close());

/** Creates a conversation with a settled turn, a followed turn that waits, a scheduled turn and an append. Returns its index key. */
async function fill(id: string): Promise<string> {
  const { client, redis } = fixture;
  await client.append({ conversation: id, agent: 'talker', messages: [{ role: 'user', content: 'first' }] });
  await client.enqueueTurn({ conversation: id, turn: 'done', agent: 'talker', input: 'hello' });
  await client.result(id, 'done', { waitMs: 30_000 });
  await client.enqueueTurn({ conversation: id, turn: 'waits', agent: 'talker', input: 'call ask' });
  await vi.waitFor(async () => expect((await client.result(id, 'waits')).state).toBe('waiting'), 30_000);
  await client.enqueueTurn({ conversation: id, turn: 'later', agent: 'talker', input: 'late', delayMs: 3_600_000 });
  const [index = ''] = await redis.keys(`*:ix:${id}`);
  return index;
}

/** Keys and members of sorted sets that hold something of the conversation, without the mark of its erase. */
async function leftOf(id: string): Promise<string[]> {
  const { redis } = fixture;
  const keys = (await redis.keys(`*:${id}*`)).filter((key) => !key.includes(`:gone:${id}`));
  const sets = (await redis.keys('{tf*')).filter((key) =>
    /:(ready|waiting|failed|idle|conversations|unpacked)$/.test(key),
  );
  const members = await Promise.all(sets.map((set) => redis.zrange(set, 0, '-1')));
  return [...keys, ...members.flat().filter((member) => member.includes(id))];
}

const DAMAGES: readonly (readonly [string, (index: string) => Promise<unknown>])[] = [
  ['is a set, as another program might write it', replaceBySet],
  ['is a string', async (index) => void (await fixture.redis.set(index, 'x'))],
  ['is missing', async (index) => void (await fixture.redis.del(index))],
  ['has only names of another form', renameAll],
];

async function replaceBySet(index: string): Promise<void> {
  const names = await fixture.redis.hkeys(index);
  await fixture.redis.del(index);
  await fixture.redis.sadd(index, ...names);
}

async function renameAll(index: string): Promise<void> {
  const names = await fixture.redis.hkeys(index);
  await fixture.redis.del(index);
  await fixture.redis.hset(index, Object.fromEntries(names.map((name) => [`v2/${name}`, ''])));
}

test.each(DAMAGES)('an erase removes all data of a conversation whose index %s', async (why, damage) => {
  const id = `erased-${DAMAGES.findIndex(([name]) => name === why)}`;
  const neighbour = `${id}.neighbour`;
  await damage(await fill(id));
  await fill(neighbour);
  const kept = await leftOf(neighbour);
  const { removedKeys } = await fixture.client.erase(id);
  expect(removedKeys).toBeGreaterThan(8);
  expect((await leftOf(id)).filter((name) => !name.includes(neighbour))).toEqual([]);
  expect(await leftOf(neighbour)).toEqual(kept);
  await fixture.client.enqueueTurn({ conversation: id, turn: 'anew', agent: 'talker', input: 'again' });
  expect(await fixture.client.result(id, 'anew', { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
});

test('the end of an idle TTL erases a whole conversation whose index is a set', async () => {
  const { client, redis } = fixture;
  const index = await fill('rests');
  await client.cancel('rests', 'waits');
  await client.cancel('rests', 'later');
  await replaceBySet(index);
  const shard = index.slice(0, index.indexOf('}') + 2);
  await redis.hset(index.replace(':ix:', ':c:'), 'ttl', '0 1');
  const log = await redis.hgetall(index.replace(':ix:', ':log:'));
  expect(Object.keys(log).length).toBeGreaterThan(2);
  await redis.zadd(`${shard}idle`, 1, 'r|_|rests');
  await vi.waitFor(async () => expect(await leftOf('rests')).toEqual([]), { timeout: 60_000, interval: 100 });
});

test('the end of an idle TTL does not erase a conversation with a scheduled turn that the index does not list', async () => {
  const { client, redis } = fixture;
  const index = await fill('sleeps');
  await client.cancel('sleeps', 'waits');
  await replaceBySet(index);
  const shard = index.slice(0, index.indexOf('}') + 2);
  await redis.hset(index.replace(':ix:', ':c:'), 'ttl', '0 1');
  await redis.zadd(`${shard}idle`, 1, 'r|_|sleeps');
  const isPutOff = async () => Number(await redis.zscore(`${shard}idle`, 'r|_|sleeps')) > Date.now() + 600_000;
  await vi.waitFor(async () => expect(await isPutOff()).toBe(true), { timeout: 60_000, interval: 100 });
  expect((await client.result('sleeps', 'later')).state).toBe('scheduled');
  expect(await redis.type(index)).toBe('hash');
});

test('an erase by a Redis user without the permission to search fails with the missing rule, and removes nothing', async () => {
  const { client, redis, url } = fixture;
  await replaceBySet(await fill('guarded'));
  const before = await leftOf('guarded');
  await redis.call('ACL', ['SETUSER', 'narrow', 'on', '>pw', '~*', '&*', '+@all', '-scan']);
  const address = new URL(url);
  [address.username, address.password] = ['narrow', 'pw'];
  const narrow = await fixture.openClient(address.href);
  const error = await narrow.erase('guarded').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TurnfoldError);
  expect(error).toMatchObject({ code: 'redis_denied', message: expect.stringContaining('+scan') });
  expect(await leftOf('guarded')).toEqual(before);
  expect((await client.erase('guarded')).removedKeys).toBeGreaterThan(8);
});

test('a fork without turns has an index of its keys, so that its erase needs no search of Redis', async () => {
  const { client, redis } = fixture;
  await fill('source');
  await client.cancel('source', 'waits');
  await client.fork('source', 'fork-of-source');
  expect(await redis.keys('*:ix:fork-of-source')).toHaveLength(1);
  await redis.config('RESETSTAT');
  await client.erase('fork-of-source');
  expect(await redis.info('commandstats')).not.toContain('cmdstat_scan');
});
