import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const agent = 'talker';

/** All keys with their values, queues included. */
async function readDatabase(): Promise<Map<string, string>> {
  const keys = (await fixture.redis.keys('*')).toSorted();
  const dumps = await Promise.all(keys.map((key) => fixture.redis.dumpBuffer(key)));
  return new Map(keys.map((key, index) => [key, dumps[index]?.toString('base64') ?? '']));
}

describe('Redis is full', () => {
  beforeEach(async () => {
    await fixture.client.enqueueTurn({ conversation: 'c1', agent, input: 'before', turn: 't1' });
    await fixture.client.append({ conversation: 'c2', agent, messages: [{ role: 'user', content: 'before' }] });
    await fixture.redis.config('SET', 'maxmemory', '1');
    return async () => void (await fixture.redis.config('SET', 'maxmemory', '0'));
  });

  const messages = [{ role: 'user' as const, content: 'x' }];
  test.each<[string, () => Promise<unknown>]>([
    ['a turn', () => fixture.client.enqueueTurn({ conversation: 'c1', agent, input: 'x', turn: 't2' })],
    ['a delayed turn', () => fixture.client.enqueueTurn({ conversation: 'c1', agent, input: 'x', delayMs: 9_000 })],
    ['the first turn of a conversation', () => fixture.client.enqueueTurn({ conversation: 'c3', agent, input: 'x' })],
    ['an append', () => fixture.client.append({ conversation: 'c2', agent, messages })],
    ['the first append of a conversation', () => fixture.client.append({ conversation: 'c4', agent, messages })],
    ['a restore', () => fixture.client.restore('c2', { version: 0, newer: 'keep' })],
    ['a fork', () => fixture.client.fork('c2', 'c7')],
    ['a request for a pass', () => fixture.client.compact('c1')],
  ])('a full Redis refuses %s, and nothing is written', async (_, write) => {
    const before = await readDatabase();
    await expect(write()).rejects.toMatchObject({ code: 'redis_full' });
    expect(await readDatabase()).toStrictEqual(before);
  });

  test('erase works on a full Redis, because it frees memory', async () => {
    expect(await fixture.client.erase('c1')).toMatchObject({ removedKeys: expect.any(Number) });
    await expect(fixture.client.describe('c1')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('while Redis is full, a client can read accepted turns, and can later send again the turns that Redis refused', async () => {
    const turn = { conversation: 'c1', agent, input: 'x', turn: 't3' };
    await expect(fixture.client.enqueueTurn(turn)).rejects.toMatchObject({ code: 'redis_full' });
    expect(await fixture.client.result('c1', 't1')).toMatchObject({ state: 'queued' });
    expect(await fixture.client.log('c2')).not.toHaveLength(0);

    await fixture.redis.config('SET', 'maxmemory', '0');
    expect(await fixture.client.enqueueTurn(turn)).toMatchObject({ isNew: true, state: 'queued' });
  });
});

test('enqueueTurn and append succeed if Redis refuses only the job that wakes a worker, and the sweeper queues that job later', async () => {
  await fixture.redis.call('ACL', 'SETUSER', 'no-queue', 'on', '>secret', '~{tf*', '&*', '+@all');
  const errors: unknown[] = [];
  const url = fixture.url.replace(/^redis:..(.*@)?/, 'redis://no-queue:secret@');
  const client = await openClient({ redisUrl: url, shards: 4, onError: (error) => errors.push(error) });
  try {
    expect(await client.enqueueTurn({ conversation: 'c5', agent, input: 'x' })).toMatchObject({ isNew: true });
    const messages = [{ role: 'user' as const, content: 'x' }];
    expect(await client.append({ conversation: 'c6', agent, messages })).toStrictEqual({ from: 1, to: 1 });
    expect(errors).not.toHaveLength(0);
  } finally {
    await client.close();
  }

  // The sweeper finds turns without a wake.
  const { turn } = await fixture.client.enqueueTurn({ conversation: 'c5', agent, input: 'y' });
  await fixture.startWorkers();
  const view = await fixture.client.result('c5', turn, { waitMs: 60_000 });
  expect(view.answer?.content).toBe('heard y');
  expect((await fixture.client.log('c5')).map(({ message }) => message.content)).toStrictEqual([
    'x',
    'heard x',
    'y',
    'heard y',
  ]);
});
