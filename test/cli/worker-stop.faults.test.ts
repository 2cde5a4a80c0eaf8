import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/client/index.ts';
import type { LocalRedis } from '../../src/local-redis/local-redis.ts';
import { type HeldModel, openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { startTurnfold } from './run-turnfold.ts';

interface Stopping {
  readonly worker: ChildProcess;
  /** resolves when its log says that it stops */
  readonly stopping: Promise<void>;
  /** how it ended, by its log */
  readonly outcome: Promise<unknown>;
  /** resolves when its log says that Redis refuses a write */
  readonly held: Promise<void>;
  /** its first claim, by its log */
  readonly claimed: Promise<Record<string, unknown>>;
}

function startWorker(redis: LocalRedis, model: HeldModel, shutdownMs: number): Stopping {
  const env = { REDIS_URL: redis.url, TURNFOLD_SHUTDOWN_MS: String(shutdownMs), TURNFOLD_LOG_LEVEL: 'debug' };
  const worker = startTurnfold(['worker', '--agents', model.agents], env);
  if (worker.stdout === null) throw new Error('its output is not piped');
  const stopping = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<unknown>();
  const claimed = Promise.withResolvers<Record<string, unknown>>();
  createInterface({ input: worker.stdout }).on('line', (line) => {
    const logged = JSON.parse(line) as Record<string, unknown>;
    const { msg, outcome, event } = logged;
    if (event === 'turn_claimed') claimed.resolve(logged);
    if (event === 'write_held') held.resolve();
    if (msg === 'worker stopping') stopping.resolve();
    if (msg === 'worker stopped') stopped.resolve(outcome);
  });
  return {
    worker,
    stopping: stopping.promise,
    held: held.promise,
    outcome: stopped.promise,
    claimed: claimed.promise,
  };
}

/** Sends SIGTERM, waits for the exit, and returns the code and the logged outcome. */
async function stop({ worker, outcome }: Stopping): Promise<{ code: number | null; outcome: unknown }> {
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
  return { code: worker.exitCode, outcome: await outcome };
}

async function openTestClient({ url }: LocalRedis): Promise<OpenClient> {
  const client = await openClient({ redisUrl: url });
  onTestFinished(() => client.close());
  return client;
}

const enqueue = (client: OpenClient, conversation: string) =>
  client.enqueueTurn({ conversation, agent: 'held', turn: 't1', input: 'hello' });

test('a worker that gets SIGTERM finishes its turn and takes no later one', async () => {
  const redis = await openOwnRedis();
  const client = await openTestClient(redis);
  const model = await openHeldModel();
  const first = startWorker(redis, model, 20_000);
  await enqueue(client, 'c1');
  await model.untilCalled(1);
  const stopped = stop(first);
  await first.stopping;
  await enqueue(client, 'c2');
  model.release();
  expect(await stopped).toEqual({ code: 0, outcome: 'closed' });
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'completed', answer: { content: 'ok' } });
  expect(await client.result('c2', 't1')).toMatchObject({ state: 'queued' });

  startWorker(redis, model, 20_000);
  expect(await client.result('c2', 't1', { waitMs: 20_000 })).toMatchObject({ state: 'completed' });
}, 60_000);

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
  expect(await next.claimed).toMatchObject({ attempt: 1 });
  expect(await client.result('c1', 't1', { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
  expect(model.calls()).toBe(2);
  expect(await client.log('c1')).toHaveLength(2);
}, 60_000);

test('SIGTERM while a full Redis refuses an answer hands the turn back at the deadline and exits with 75', async () => {
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
  await first.held;
  expect(await stop(first)).toEqual({ code: 75, outcome: 'deadline' });
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'queued' });

  await server.config('SET', 'maxmemory', 0);
  const next = startWorker(redis, model, 20_000);
  expect(await next.claimed).toMatchObject({ attempt: 1 });
  expect(await client.result('c1', 't1', { waitMs: 30_000 })).toMatchObject({ state: 'completed' });
  expect(model.calls()).toBe(2);
}, 60_000);

test.each([
  // A deadline that no test would wait for: a lost Redis ends the worker long before it.
  ['was killed', 'SIGKILL', 600_000],
  ['hangs', 'SIGSTOP', 500],
] as const)(
  'exits with the code for a lost lease after SIGTERM during a turn while Redis %s',
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
  60_000,
);
