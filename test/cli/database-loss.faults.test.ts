import { copyFile, cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Finding } from '../../src/host/health/finding.ts';
import { type Server, startServer, until } from '../redis-modes/servers.ts';
import { openHeldModel } from './held-model.ts';
import { endOf, runTurnfold, startTurnfold } from './run-turnfold.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const SHARDS = '4';
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

interface Started {
  readonly server: Server;
  readonly worker: WorkerProcess;
  readonly client: OpenClient;
  readonly model: Awaited<ReturnType<typeof openHeldModel>>;
  /** Errors that the client reported. */
  readonly errors: unknown[];
  readonly ready: () => Promise<{
    readonly status: number;
    readonly state: string;
    readonly database: Finding | undefined;
  }>;
}

async function start(args: readonly string[] = DURABLE): Promise<Started> {
  const dir = await mkdtemp(join(tmpdir(), 'turnfold-loss-'));
  const server = await startServer({ args, dir });
  onTestFinished(() => server.stop());
  const model = await openHeldModel();
  const worker = startWorkerProcess({ REDIS_URL: server.url, TURNFOLD_SHARDS: SHARDS }, model.agents);
  const errors: unknown[] = [];
  const client = await openClient({
    redisUrl: server.url,
    shards: Number(SHARDS),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => client.close());
  const { metrics } = await worker.untilLogged('worker started');
  const ready: Started['ready'] = async () => {
    const response = await fetch(new URL('/ready', String(metrics)));
    const body = (await response.json()) as { status: string; checks: Finding[] };
    return {
      status: response.status,
      state: body.status,
      database: body.checks.find(({ name }) => name === 'database'),
    };
  };
  return { server, worker, client, model, errors, ready };
}

/** Lets the worker answer a turn, which shows that it works on. */
async function answers({ client, model }: Started, conversation: string): Promise<void> {
  model.release();
  await client.enqueueTurn({ conversation, agent: 'held', input: 'hello', turn: 't1' });
  expect(await client.result(conversation, 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
}

const lossesOf = ({ worker }: Started): unknown[] =>
  worker.lines.filter(({ event }) => event === 'database_lost').map(({ level, found }) => [level, found]);

test('a worker whose Redis is emptied reports the loss once, writes the database record again, and continues to work', async () => {
  const started = await start();
  const { server, worker, client, model, errors, ready } = started;
  const { redis } = server;
  const before = await redis.hgetall('{tf}:database');
  expect(await ready()).toMatchObject({ status: 200, state: 'ready', database: { state: 'ok' } });
  await client.enqueueTurn({ conversation: 'c1', agent: 'held', input: 'hello', turn: 't1' });
  await model.untilCalled(1);
  await redis.flushall();
  await worker.untilLogged('database_lost');
  const after = await redis.hgetall('{tf}:database');
  expect(after).toMatchObject({ schema: before['schema'], shards: before['shards'] });
  expect(after['id']).not.toBe(before['id']);

  await answers(started, 'c2');
  expect(await worker.untilLogged('lease_lost')).toMatchObject({
    why: 'unclaimed',
    msg: expect.stringContaining('the database was emptied, restored or replaced'),
  });
  expect(JSON.stringify(worker.lines)).not.toContain('taken over by another worker');
  expect(lossesOf(started)).toEqual([['error', 'empty']]);
  expect(await ready()).toMatchObject({
    status: 200,
    state: 'degraded',
    database: { state: 'warning', what: expect.stringContaining('the database is empty'), remedy: expect.any(String) },
  });
  await expect
    .poll(() => errors, { timeout: 30_000 })
    .toContainEqual(expect.objectContaining({ code: 'database_lost' }));
  const doctor = await runTurnfold(['doctor'], { env: { REDIS_URL: server.url, TURNFOLD_SHARDS: SHARDS } });
  expect(doctor.stdout).toMatch(/warning +database +the database is empty/);
});

test('a worker whose Redis comes back with an older backup reports how much is missing', async () => {
  const started = await start();
  const { server, worker } = started;
  await answers(started, 'c1');
  const counter = async (): Promise<number> => Number(await server.redis.hget('{tf}:database', 'counter'));
  const backup = await mkdtemp(join(tmpdir(), 'turnfold-backup-'));
  await cp(join(server.dir, 'appendonlydir'), join(backup, 'appendonlydir'), { recursive: true });
  const first = await counter();
  // One reply of a raised counter may be lost with the server, and one raise may come before the comparison.
  await until('the counter grows', async () => (await counter()) >= first + 5);
  server.signal('SIGKILL');
  const older = await startServer({ port: server.port, dir: backup, args: DURABLE });
  onTestFinished(() => older.stop());
  const line = await worker.untilLogged('database_lost');
  expect(line).toMatchObject({ level: 'error', found: 'older', msg: expect.stringMatching(/older.*last \d+ s/) });
  expect(Number(line['behindMs'])).toBeGreaterThanOrEqual(1_000);
  await answers(started, 'c2');
  expect(lossesOf(started)).toHaveLength(1);
});

test('a worker whose Redis restarts without losing a write reports no loss', async () => {
  const started = await start();
  const { server } = started;
  await answers(started, 'c1');
  server.signal('SIGKILL');
  const again = await startServer({ port: server.port, dir: server.dir, args: DURABLE });
  onTestFinished(() => again.stop());
  await answers(started, 'c2');
  // The worker raises the counter after each comparison.
  const counter = async (): Promise<number> => Number(await again.redis.hget('{tf}:database', 'counter'));
  const first = await counter();
  await until('the counter grows', async () => (await counter()) >= first + 3);
  expect(lossesOf(started)).toEqual([]);
});

test('a worker that meets the database of another application with the same settings reports another database', async () => {
  const other = await start();
  await answers(other, 'c1');
  expect(await other.worker.stop()).toBe(0);
  await other.server.redis.call('SAVE');
  const started = await start();
  const { server, worker } = started;
  await answers(started, 'c1');
  server.signal('SIGKILL');
  const dir = await mkdtemp(join(tmpdir(), 'turnfold-other-'));
  await copyFile(join(other.server.dir, 'dump.rdb'), join(dir, 'dump.rdb'));
  const replaced = await startServer({ port: server.port, dir });
  onTestFinished(() => replaced.stop());
  expect(await worker.untilLogged('database_lost')).toMatchObject({ level: 'error', found: 'another' });
  await answers(started, 'c2');
});

test('a worker that meets a database with another number of shards stops with exit code 78', async () => {
  const { server, worker } = await start();
  server.signal('SIGKILL');
  const replaced = await startServer({ port: server.port });
  onTestFinished(() => replaced.stop());
  await replaced.redis.hset('{tf}:database', { schema: 1, shards: 7 });
  // The worker may have created its own database before.
  await replaced.redis.hset('{tf}:database', { id: 'other', shards: 7 });
  expect(await worker.untilExit()).toBe(78);
  expect(JSON.stringify(worker.lines)).toContain('the database was created with 7 shards');
});

test('turnfold serve reports the loss of its database on /ready and in its log', async () => {
  const server = await startServer({ args: DURABLE });
  onTestFinished(() => server.stop());
  const serve = startTurnfold(['serve', '--port', '0', '--metrics-port', '0'], {
    REDIS_URL: server.url,
    TURNFOLD_SHARDS: SHARDS,
  });
  let log = '';
  serve.stdout?.on('data', (piece: Buffer) => void (log += piece.toString()));
  await expect.poll(() => log, { timeout: 60_000 }).toContain('HTTP server started');
  const [, metrics = ''] = /"metrics":"([^"]+)"/.exec(log) ?? [];
  await server.redis.flushall();
  await expect.poll(() => log, { timeout: 60_000 }).toContain('database_lost');
  const response = await fetch(new URL('/ready', metrics));
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 200,
    body: { status: 'degraded' },
  });
  const ended = endOf(serve);
  serve.kill('SIGTERM');
  await ended;
});

test('a worker on a Redis without an append-only file warns once at its start, and no other worker does', async () => {
  const warnings = ({ worker }: Started): unknown[] =>
    worker.lines.filter(({ event }) => event === 'redis_not_persistent').map(({ level }) => level);
  const volatile = await start([]);
  await answers(volatile, 'c1');
  expect(warnings(volatile)).toEqual(['warn']);
  const durable = await start();
  await answers(durable, 'c1');
  expect(warnings(durable)).toEqual([]);
});
