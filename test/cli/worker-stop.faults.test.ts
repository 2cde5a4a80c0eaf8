import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { type HeldModel, openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

function startWorker(redis: LocalRedis, model: HeldModel, shutdownMs: number): WorkerProcess {
  const env = { REDIS_URL: redis.url, TURNFOLD_SHUTDOWN_MS: String(shutdownMs), TURNFOLD_LOG_LEVEL: 'debug' };
  return startWorkerProcess(env, model.agents);
}

/** Sends SIGTERM, waits for the exit, and returns the code and the logged outcome. */
async function stop(worker: WorkerProcess): Promise<{ code: number | null; outcome: unknown }> {
  const code = await worker.stop();
  return { code, outcome: (await worker.untilLogged('worker stopped'))['outcome'] };
}

async function openTestClient({ url }: LocalRedis): Promise<OpenClient> {
  const client = await openClient({ redisUrl: url });
  onTestFinished(() => client.close());
  return client;
}

const enqueue = (client: OpenClient, conversation: string) =>
  client.enqueueTurn({ conversation, agent: 'held', turn: 't1', input: 'hello' });

test('a worker that gets SIGTERM finishes its current turn and starts no other turn', async () => {
  const redis = await openOwnRedis();
  const client = await openTestClient(redis);
  const model = await openHeldModel();
  const first = startWorker(redis, model, 20_000);
  await enqueue(client, 'c1');
  await model.untilCalled(1);
  const stopped = stop(first);
  await first.untilLogged('worker stopping');
  await enqueue(client, 'c2');
  model.release();
  expect(await stopped).toEqual({ code: 0, outcome: 'closed' });
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'completed', answer: { content: 'ok' } });
  expect(await client.result('c2', 't1')).toMatchObject({ state: 'queued' });

  startWorker(redis, model, 20_000);
  expect(await client.result('c2', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
});

test('a turn that outlasts the deadline of SIGTERM is handed back, and another worker continues it at once', async () => {
  const redis = await openOwnRedis();
  const client = await openTestClient(redis);
  const model = await openHeldModel();
  const first = startWorker(redis, model, 4_000);
  await enqueue(client, 'c1');
  await model.untilCalled(1);
  expect(await stop(first)).toEqual({ code: 75, outcome: 'deadline' });
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'queued' });

  model.release();
  const next = startWorker(redis, model, 20_000);
  expect(await next.untilLogged('turn_claimed')).toMatchObject({ attempt: 1 });
  expect(await client.result('c1', 't1', { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
  expect(model.calls()).toBe(2);
  expect(await client.log('c1')).toHaveLength(2);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a turn is handed back although its worker gets %s twice, as from a terminal and from npm',
  async (signal) => {
    const redis = await openOwnRedis();
    const client = await openTestClient(redis);
    const model = await openHeldModel();
    const worker = startWorker(redis, model, 2_000);
    await enqueue(client, 'c1');
    await model.untilCalled(1);
    worker.process.kill(signal);
    worker.process.kill(signal);
    await worker.untilLogged('worker stopping');
    worker.process.kill('SIGTERM');
    expect(await worker.untilExit()).toBe(75);
    expect(await worker.untilLogged('worker stopped')).toMatchObject({ outcome: 'deadline' });
    expect(await client.result('c1', 't1')).toMatchObject({ state: 'queued' });
  },
);

test('after SIGTERM, a worker whose answer a full Redis refuses hands the turn back at the deadline and exits with 75', async () => {
  const redis = await openOwnRedis();
  const client = await openTestClient(redis);
  const model = await openHeldModel();
  const first = startWorker(redis, model, 4_000);
  await enqueue(client, 'c1');
  await model.untilCalled(1);
  const server = new Redis(redis.url);
  onTestFinished(() => server.disconnect());
  await server.config('SET', 'maxmemory', 1);
  model.release();
  await first.untilLogged('write_deferred');
  expect(await stop(first)).toEqual({ code: 75, outcome: 'deadline' });
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'queued' });

  await server.config('SET', 'maxmemory', 0);
  const next = startWorker(redis, model, 20_000);
  expect(await next.untilLogged('turn_claimed')).toMatchObject({ attempt: 1 });
  expect(await client.result('c1', 't1', { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
  expect(model.calls()).toBe(2);
});

test.each([
  // A lost Redis ends the worker long before this deadline of ten minutes.
  ['was killed', 'SIGKILL', 600_000],
  ['hangs', 'SIGSTOP', 500],
] as const)(
  'a worker in the middle of a turn exits with 75 after SIGTERM if Redis %s',
  async (_, signal, shutdownMs) => {
    const redis = await openOwnRedis();
    const client = await openTestClient(redis);
    const model = await openHeldModel();
    const first = startWorker(redis, model, shutdownMs);
    await enqueue(client, 'c1');
    await model.untilCalled(1);
    process.kill(redis.pid, signal);
    if (signal === 'SIGSTOP') onTestFinished(() => void process.kill(redis.pid, 'SIGCONT'));
    const stopped = stop(first);
    model.release();
    expect(await stopped).toEqual({ code: 75, outcome: 'deadline' });
  },
);
