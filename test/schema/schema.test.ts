import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { SCHEMAS } from '../../src/store/keys.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { createAgents } from './agents.ts';
import { contentOf, WAIT_MS } from './answered.ts';
import { loadBuild, THIS_TREE } from './build.ts';
import { type Dump, dumpDatabase, restoreDump } from './dump.ts';
import { fillDatabase, HOOK, queueTurns, SHARDS } from './fill.ts';
import { readRelease, unpackRelease } from './release.ts';
import { describeShapes } from './shapes.ts';
import { startBuildWorkers } from './workers.ts';

/** Forms of the kept release that a raise of the schema has changed since. */
const RAISED: ReadonlySet<string> = new Set();
const release = readRelease();
const { modules: oldModules, remove } = unpackRelease(release);
afterAll(remove);

let server: LocalRedis;
let redis: Redis;

beforeEach(async () => {
  server = await provideRedis(readRedisSource());
  redis = new Redis(server.url);
  return async () => {
    await redis.quit();
    await server.stop();
  };
});

async function open(): Promise<OpenClient> {
  const client = await openClient({ redisUrl: server.url, shards: SHARDS });
  onTestFinished(() => client.close());
  return client;
}

/** Answers the call on which a turn waits. */
async function answer(client: OpenClient, id: string): Promise<void> {
  const { waiting } = await client.result(id, 't1');
  const [call] = waiting?.calls ?? [];
  await client.answer(id, 't1', { [call?.id ?? '']: id === 'approval' ? { approved: true } : { content: 'answered' } });
}

/** Continues every conversation of `fill.ts`. */
async function continueAll(client: OpenClient): Promise<void> {
  expect(await contentOf(client, 'settled', 't1')).toBe('heard hello');
  expect(await contentOf(client, 'queued', 't2')).toBe('heard queued t2');
  expect(await contentOf(client, 'held', 't1')).toBe('heard hold');
  for (const id of ['approval', 'tools']) await answer(client, id);
  expect(await contentOf(client, 'approval', 't1')).toBe('risked');
  expect(await contentOf(client, 'tools', 't1')).toBe('answered');
  expect((await client.result('scheduled', 't1')).state).toBe('scheduled');
  const { turn } = await client.redrive('failed', 't1');
  expect(await contentOf(client, 'failed', turn)).toBe('heard late');
  expect(await client.versions('compacted')).toHaveLength(1);
  for (const id of ['compacted', 'settled', 'forked']) {
    await client.enqueueTurn({ conversation: id, turn: 'next', agent: 'talker', input: 'next' });
    expect(await contentOf(client, id, 'next')).toBe('heard next');
  }
  const proposal = await client.proposal('reviewed');
  await client.approve('reviewed', proposal?.proposal ?? '');
  await vi.waitFor(async () => expect(await client.versions('reviewed')).toHaveLength(1), WAIT_MS);
  expect((await client.keys.list({ tenant: '_' })).map(({ name }) => name)).toEqual(['reader']);
  expect(await redis.keys('*:quarantined')).toEqual([]);
}

test('workers of this tree continue every conversation of a dump that an earlier release wrote', {
  timeout: 180_000,
}, async () => {
  expect(release.schema).toBeGreaterThanOrEqual(SCHEMAS.oldest);
  const hooks: string[] = [];
  const receiver = createServer((request, response) => {
    request.on('data', (part: Buffer) => hooks.push(part.toString()));
    request.on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => void receiver.close());
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  await restoreDump(redis, release.dump, (text) => text.replaceAll(HOOK, hook));
  const events: string[] = [];
  const workers = await startWorkers({
    redisUrl: server.url,
    shards: SHARDS,
    roles: ROLES,
    agents: createAgents(await loadBuild(THIS_TREE), false),
    webhooks: { allowPrivate: true },
    onEvent: (event) => events.push(JSON.stringify(event)),
  });
  onTestFinished(async () => void (await workers.close()));
  await continueAll(await open());
  await vi.waitFor(() => expect(hooks.join('')).toContain('failed'), WAIT_MS);
  expect(events.filter((event) => event.includes('corrupt_record'))).toEqual([]);
  expect(await redis.hget('{tf}:database', 'schema')).toBe(String(SCHEMAS.current));
});

test('an earlier release and this tree refuse a database of a newer schema, and change nothing', async () => {
  const newer = { schema: String(SCHEMAS.current + 1), shards: String(SHARDS) };
  await redis.hset('{tf}:database', newer);
  for (const modules of [oldModules, THIS_TREE]) {
    const build = await loadBuild(modules);
    const to = { redisUrl: server.url, shards: SHARDS };
    const refusal = { code: 'incompatible_store', field: 'schema' };
    await expect(build.openClient(to)).rejects.toMatchObject(refusal);
    await expect(build.startWorkers({ ...to, agents: createAgents(build, false) })).rejects.toMatchObject(refusal);
  }
  expect(await redis.keys('*')).toEqual(['{tf}:database']);
  expect(await redis.hgetall('{tf}:database')).toEqual(newer);
});

test.each([
  ['set', 'refused'],
  ['hash', 'raised'],
])('a database of schema 1 whose conversation has an index of type %s is %s when it is opened', async (type, end) => {
  const stored = { schema: '1', shards: String(SHARDS) };
  await redis.hset('{tf}:database', stored);
  if (type === 'set') await redis.sadd('{tf0}:_:ix:c1', '{tf0}:_:t:c1:t1');
  else await redis.hset('{tf0}:_:ix:c1', 't:t1', '');
  if (end === 'raised') {
    await open();
    return expect(await redis.hget('{tf}:database', 'schema')).toBe(String(SCHEMAS.current));
  }
  const build = await loadBuild(THIS_TREE);
  const to = { redisUrl: server.url, shards: SHARDS };
  const refusal = {
    code: 'incompatible_store',
    field: 'schema',
    message: expect.stringContaining('before 27 November'),
  };
  await expect(build.openClient(to)).rejects.toMatchObject(refusal);
  await expect(build.startWorkers({ ...to, agents: createAgents(build, false) })).rejects.toMatchObject(refusal);
  expect(await redis.hgetall('{tf}:database')).toEqual(stored);
});

test('records keep the types and fields of an earlier release', {
  timeout: 180_000,
}, async () => {
  const workers = await startBuildWorkers(server.url, THIS_TREE, 'hold');
  const client = await open();
  await fillDatabase(client);
  await workers.stop('SIGKILL');
  await queueTurns(client);
  const written: Dump = await dumpDatabase(redis);
  const known = new Set(describeShapes(written));
  expect(written.schema).toBe(SCHEMAS.current);
  const why =
    'Each of these changed. Keep the form, or raise `SCHEMAS.current` and list it: docs/contributing/schema.md';
  expect(
    describeShapes(release.dump).filter((shape) => !known.has(shape) && !RAISED.has(shape)),
    why,
  ).toEqual([]);
});
