import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Finding } from '../../src/host/health/finding.ts';
import { QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import { examine, statesOf } from './examination.ts';
import { openOwnRedis } from './own-redis.ts';
import { runTurnfold, writeTemporary } from './run-turnfold.ts';
import { startWorkerProcess } from './worker-process.ts';

/** Without the latency, which a busy machine may increase. */
function findFaults(checks: readonly Finding[]): readonly Finding[] {
  return checks.filter(({ name, state }) => state !== 'ok' && name !== 'latency');
}

function openRedis(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  onTestFinished(() => redis.disconnect());
  return redis;
}

test('turnfold doctor reports only ok on a healthy machine with a worker, and writes nothing to Redis', async () => {
  const { url } = await openOwnRedis('--maxmemory', '100mb');
  const redis = openRedis(url);
  const before = await examine({ REDIS_URL: url });
  expect(await redis.dbsize()).toBe(0);
  expect(before).toMatchObject({ code: 0, state: 'warning' });
  expect(findFaults(before.checks).map(({ name }) => name)).toEqual([
    'turn workers',
    'compaction workers',
    'summarization workers',
  ]);

  await startWorkerProcess({ REDIS_URL: url }).untilLogged('worker started');
  const { code, checks } = await examine({ REDIS_URL: url });
  expect(findFaults(checks)).toEqual([]);
  expect(code).toBe(0);
  expect(checks).toContainEqual({ name: 'turn workers', state: 'ok', what: '1 connected' });
  expect(checks).toContainEqual({ name: 'shards', state: 'ok', what: '256 shards, as in the database' });

  const { stdout } = await runTurnfold(['doctor', '--redis', url], { env: {} });
  for (const { name } of checks) expect(stdout).toMatch(new RegExp(`^ok +${name} `, 'm'));
});

test('turnfold doctor reports every problem at once, each with its remedy', async () => {
  const args = ['--maxmemory-policy', 'volatile-lru', '--appendonly', 'no', '--notify-keyspace-events', 'KEA'];
  const { url } = await openOwnRedis(...args);
  const redis = openRedis(url);
  await redis.hset('{tf}:database', { schema: 99, shards: 16 });
  await redis.zadd('{tf3}:ready', Date.now() - 300_000, 't|_|c1');
  await redis.zadd('{tf3}:idle', Date.now() - 300_000, 'r|_|c1');
  const queue = new Queue(QUEUES.turn, { connection: redis, prefix: queuePrefix(0) });
  onTestFinished(() => queue.close());
  await queue.pause();
  await redis.config('SET', 'maxmemory', '1mb'); // less than an empty Redis uses, and no key has a TTL
  const env = { REDIS_URL: url, TURNFOLD_DURABLE_REPLICAS: '1', TURNFOLD_TURN_CONCURENCY: '9' };
  const examination = await examine(env);
  expect(examination).toMatchObject({ code: 1, state: 'wrong' });
  expect(statesOf(examination)).toMatchObject({
    settings: 'warning',
    node: 'ok',
    eviction: 'wrong',
    memory: 'wrong',
    'append-only file': 'wrong',
    'keyspace notifications': 'warning',
    replicas: 'wrong',
    schema: 'wrong',
    shards: 'wrong',
    'overdue entries': 'wrong',
    'conversations to erase': 'warning',
    scripts: 'ok',
    clock: 'ok',
    'queue turn': 'wrong',
    'queue compaction': 'ok',
    'turn workers': 'warning',
  });
  for (const { state, remedy } of examination.checks) expect(remedy === undefined).toBe(state === 'ok');
});

test('turnfold doctor checks whether the Redis server knows WAITAOF before it accepts TURNFOLD_DURABLE_FSYNC', async () => {
  const { url } = await openOwnRedis();
  const knows = ((await openRedis(url).call('command', 'info', 'waitaof')) as unknown[])[0] !== null;
  const { checks } = await examine({ REDIS_URL: url, TURNFOLD_DURABLE_FSYNC: 'local' });
  expect(checks).toContainEqual(expect.objectContaining({ name: 'waiting for disks', state: knows ? 'ok' : 'wrong' }));
});

test('turnfold doctor runs the other checks for a Redis user without INFO, CONFIG and CLIENT LIST', async () => {
  const { url } = await openOwnRedis();
  const redis = openRedis(url);
  await redis.call('ACL', 'SETUSER', 'small', 'on', '>s3cret', '~*', '&*', '+@all', '-info', '-config', '-client|list');
  const examination = await examine({ REDIS_URL: url.replace('redis://', 'redis://small:s3cret@') });
  expect(examination).toMatchObject({ code: 0, state: 'warning' });
  expect(statesOf(examination)).toMatchObject({
    redis: 'warning',
    database: 'ok',
    scripts: 'ok',
    'turn workers': 'ok',
  });
});

describe('doctor at a problem that blocks further checks', () => {
  test('turnfold doctor reports an unreachable Redis as wrong and still checks the machine', async () => {
    const port = await findClosedPort();
    const passwordFile = await writeTemporary('redis', `redis://:s3cret@127.0.0.1:${port}\n`);
    const examination = await examine({ REDIS_URL_FILE: passwordFile });
    expect(examination).toMatchObject({ code: 1 });
    expect(statesOf(examination)).toMatchObject({ settings: 'ok', node: 'ok', 'metrics port': 'ok', redis: 'wrong' });
    expect(examination.checks.at(-1)).toMatchObject({ what: expect.stringContaining('ECONNREFUSED') });
  });

  test('turnfold doctor reports every invalid setting', async () => {
    const examination = await examine({ REDIS_URL: 's3cret', TURNFOLD_SHARDS: 's3cret' });
    expect(examination.code).toBe(1);
    expect(examination.checks.map(({ what }) => what.split(':')[0])).toEqual(['REDIS_URL', 'TURNFOLD_SHARDS']);
  });
});

/** A provider that answers every request with one status and records the requests. */
async function serve(status: number, asked: string[] = []): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data: [], error: { message: 's3cret' } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

test('turnfold doctor warns about a metrics port that another program uses', async () => {
  const port = portOf(await serve(200));
  const { checks } = await examine({ TURNFOLD_METRICS_PORT: String(port) }, '--redis', 'redis://127.0.0.1:1');
  expect(checks.find(({ name }) => name === 'metrics port')).toMatchObject({
    state: 'warning',
    what: expect.stringContaining('EADDRINUSE'),
  });
});

test.each([
  [200, 'ok'],
  [401, 'wrong'],
  [404, 'warning'],
  [500, 'warning'],
  [undefined, 'wrong'],
])('turnfold doctor --providers rates HTTP status %s of a model provider as %s', async (status, state) => {
  const asked: string[] = [];
  const port = status === undefined ? await findClosedPort() : portOf(await serve(status, asked));
  const env = {
    OPENAI_API_KEY: 's3cret',
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    ANTHROPIC_API_KEY: 's3cret',
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
  };
  const { checks } = await examine(env, '--providers', '--redis', 'redis://127.0.0.1:1');
  expect(checks).toContainEqual(expect.objectContaining({ name: 'openai', state }));
  expect(checks).toContainEqual(expect.objectContaining({ name: 'anthropic', state }));
  expect(asked.toSorted()).toEqual(status === undefined ? [] : ['GET /v1/models', 'GET /v1/models?limit=1']);
});

test('turnfold doctor --redis overrides REDIS_URL_FILE, and its errors name --redis', async () => {
  const wrong = await examine({ REDIS_URL: 'redis://127.0.0.1:1' }, '--redis', 'nonsense');
  expect(wrong.checks).toEqual([
    { name: 'settings', state: 'wrong', what: expect.stringMatching(/^--redis: /) as string, remedy: 'Correct it.' },
  ]);
  const { url } = await openOwnRedis();
  const file = await writeTemporary('redis', 'redis://127.0.0.1:1');
  const { checks } = await examine({ REDIS_URL_FILE: file }, '--redis', url);
  expect(checks[0]).toEqual({ name: 'settings', state: 'ok', what: 'all settings are valid' });
  const idle = await examine({ REDIS_SERVER_NAME: 'redis' }, '--redis', url);
  expect(idle.checks[0]).toMatchObject({
    what: 'REDIS_SERVER_NAME: no effect, because --redis does not begin with rediss (TLS)',
  });
});
