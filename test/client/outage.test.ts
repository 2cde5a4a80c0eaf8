import { expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { findClosedPort, listenSilently } from '../local-redis/fixture.ts';
import { failureOf, startOwnRedis } from './fixture.ts';

const agent = 'talker';
const UNAVAILABLE = { error: expect.objectContaining({ code: 'redis_unavailable' }) as unknown, isInTime: true };
const SOON = { timeout: 60_000, interval: 50 };

/** Calls about an existing conversation. */
function everyCall(client: OpenClient): Record<string, () => Promise<unknown>> {
  return {
    enqueueTurn: () => client.enqueueTurn({ conversation: 'c1', agent, input: 'x', turn: 't9' }),
    result: () => client.result('c1', 't1'),
    'result, waiting': () => client.result('c1', 't1', { waitMs: 60_000 }),
    stream: () => client.stream('c1', 't1')[Symbol.asyncIterator]().next(),
    cancel: () => client.cancel('c1', 't9'),
    answer: () => client.answer('c1', 't1', { c1_0: { content: 'x' } }),
    append: () => client.append({ conversation: 'c2', agent, messages: [{ role: 'user', content: 'x' }] }),
    context: () => client.context('c1'),
    show: () => client.show('c1', 1),
    versions: () => client.versions('c1'),
    diff: () => client.diff('c1', 0, 1),
    log: () => client.log('c1'),
    describe: () => client.describe('c1'),
    compact: () => client.compact('c1'),
    erase: () => client.erase('c1'),
  };
}

async function failEveryCall(client: OpenClient): Promise<Record<string, unknown>> {
  const calls = Object.entries(everyCall(client));
  return Object.fromEntries(
    await Promise.all(calls.map(async ([name, call]) => [name, await failureOf(call)] as const)),
  );
}

function allUnavailable(client: OpenClient): Record<string, unknown> {
  return Object.fromEntries(Object.keys(everyCall(client)).map((name) => [name, UNAVAILABLE]));
}

function failOpening(redisUrl: string): Promise<unknown> {
  return failureOf(() => openClient({ redisUrl, failFast: true }));
}

async function openWithTurn(url: string): Promise<OpenClient> {
  const client = await openClient({ redisUrl: url, failFast: true });
  onTestFinished(() => client.close());
  await client.enqueueTurn({ conversation: 'c1', agent, input: 'x', turn: 't1' });
  return client;
}

test('every call of a failFast client fails within a second while Redis is frozen, and works again afterwards', async ({
  skip,
}) => {
  const redis = await startOwnRedis(skip);
  const client = await openWithTurn(redis.url);
  process.kill(redis.pid, 'SIGSTOP');
  const thaw = (): boolean => process.kill(redis.pid, 'SIGCONT');
  onTestFinished(() => void thaw());

  expect(await failEveryCall(client)).toStrictEqual(allUnavailable(client));
  expect(await failOpening(redis.url)).toStrictEqual(UNAVAILABLE);
  thaw();
  await expect.poll(() => client.result('c1', 't1').catch(() => undefined), SOON).toMatchObject({ turn: 't1' });
  expect(await client.enqueueTurn({ conversation: 'c3', agent, input: 'x' })).toMatchObject({ isNew: true });
});

test('every call of a failFast client fails within a second after Redis died', async ({ skip }) => {
  const redis = await startOwnRedis(skip);
  const client = await openWithTurn(redis.url);
  process.kill(redis.pid, 'SIGKILL');

  expect(await failEveryCall(client)).toStrictEqual(allUnavailable(client));
  expect(await failEveryCall(client)).toStrictEqual(allUnavailable(client));
});

test('openClient with failFast fails within a second if no server listens', async () => {
  expect(await failOpening(`redis://127.0.0.1:${await findClosedPort()}`)).toStrictEqual(UNAVAILABLE);
});

test('openClient with failFast fails within a second if the server never answers', async () => {
  expect(await failOpening(`redis://127.0.0.1:${await listenSilently()}`)).toStrictEqual(UNAVAILABLE);
});
