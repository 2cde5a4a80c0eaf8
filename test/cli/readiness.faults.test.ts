import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import type { Finding } from '../../src/host/health/finding.ts';
import { QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import { openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { AGENTS, startWorkerProcess, type WorkerProcess } from './worker-process.ts';

/** Response of a health page. */
interface Answer {
  readonly status: number;
  readonly body: { readonly status: string; readonly checks?: readonly Finding[] };
}

async function ask(url: string): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const READY = { status: 200, body: { status: 'ready' } };
const ALIVE = { status: 200, body: { status: 'ok' } };

/** The body of `/ready` if a single check fails. */
function notReady(name: string, what: unknown): unknown {
  return {
    status: 503,
    body: {
      status: 'not_ready',
      checks: expect.arrayContaining([
        expect.objectContaining({ name, state: 'wrong', what, remedy: expect.any(String) }),
      ]),
    },
  };
}

async function untilReady(pages: string, answer: unknown): Promise<void> {
  await expect.poll(() => ask(`${pages}/ready`), { timeout: 60_000, interval: 50 }).toMatchObject(answer as object);
}

/** A started worker, and the address of its health pages. */
async function startWorker(
  agents: string,
  env: Record<string, string>,
): Promise<{ worker: WorkerProcess; pages: string }> {
  const worker = startWorkerProcess(env, agents);
  const { metrics } = await worker.untilLogged('worker started');
  return { worker, pages: new URL(String(metrics)).origin };
}

test('a worker that waits for Redis at its start is alive and not ready, and exits with 0 after SIGTERM', async () => {
  const port = await findClosedPort();
  const env = { REDIS_URL: 'redis://:s3cret@127.0.0.1:1', TURNFOLD_METRICS_PORT: String(port) };
  const worker = startWorkerProcess(env);
  const pages = `http://127.0.0.1:${port}`;
  await expect.poll(() => ask(`${pages}/health`).catch(() => undefined), { timeout: 60_000 }).toMatchObject(ALIVE);
  const answer = await ask(`${pages}/ready`);
  expect(answer).toMatchObject(notReady('start', expect.stringContaining('waits for Redis')) as object);
  expect(JSON.stringify(answer)).not.toContain('s3cret');
  expect((await fetch(`${pages}/metrics`)).status).toBe(503);
  expect(await worker.stop()).toBe(0);
});

test('a worker reports ready only while Redis is usable, and reports alive in any state of Redis', async () => {
  const redis = await openOwnRedis();
  const { pages } = await startWorker(AGENTS, { REDIS_URL: redis.url });
  await untilReady(pages, READY);

  const admin = new Redis(redis.url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  admin.on('error', () => undefined);
  onTestFinished(() => admin.disconnect());
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await untilReady(pages, notReady('redis', expect.stringContaining('allkeys-lru')));
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  await untilReady(pages, READY);

  process.kill(redis.pid, 'SIGSTOP');
  try {
    expect(await ask(`${pages}/ready`)).toMatchObject(notReady('redis', 'the check did not finish in time') as object);
    expect(await ask(`${pages}/health`)).toEqual(ALIVE);
  } finally {
    process.kill(redis.pid, 'SIGCONT');
  }
  await untilReady(pages, READY);

  process.kill(redis.pid, 'SIGKILL');
  await untilReady(
    pages,
    notReady('redis', expect.stringMatching(/redis_unavailable|the check did not finish in time/)),
  );
  expect(await ask(`${pages}/health`)).toEqual(ALIVE);
});

test('a worker with free capacity is not ready while a job waits too long in its queue', async () => {
  const redis = await openOwnRedis();
  const { pages } = await startWorker(AGENTS, { REDIS_URL: redis.url, TURNFOLD_STUCK_MS: '1000' });
  await untilReady(pages, READY);
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const queue = new Queue(QUEUES.turn, { connection, prefix: queuePrefix(0) });
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(async () => {
    await Promise.all([client.close(), queue.close()]);
    connection.disconnect();
  });
  await queue.pause();
  await client.enqueueTurn({ conversation: 'c1', agent: 'workspace', turn: 't1', input: 'hello' });
  await untilReady(pages, notReady('intake', expect.stringContaining('queue turn has waited')));
  await queue.resume();
  expect(await client.result('c1', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  await untilReady(pages, READY);
});

test('a worker at full concurrency stays ready, however long other turns wait', async () => {
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  const env = { REDIS_URL: redis.url, TURNFOLD_STUCK_MS: '1000', TURNFOLD_TURN_CONCURRENCY: '1' };
  const { pages } = await startWorker(model.agents, env);
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(() => client.close());
  await client.enqueueTurn({ conversation: 'c1', agent: 'held', turn: 't1', input: 'hello' });
  await model.untilCalled(1);
  await client.enqueueTurn({ conversation: 'c2', agent: 'held', turn: 't1', input: 'hello' });
  const acceptedAt = Date.now();
  // Twice TURNFOLD_STUCK_MS: nothing signals that a worker stayed ready.
  await expect.poll(() => Date.now() - acceptedAt, { timeout: 60_000 }).toBeGreaterThan(2_000);
  await untilReady(pages, READY);
  model.release();
  expect(await client.result('c2', 't1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
});

test('SIGTERM during a turn makes the worker unready at once, and the turn finishes', async () => {
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  const { worker, pages } = await startWorker(model.agents, { REDIS_URL: redis.url, TURNFOLD_SHUTDOWN_MS: '20000' });
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(() => client.close());
  await client.enqueueTurn({ conversation: 'c1', agent: 'held', turn: 't1', input: 'hello' });
  await model.untilCalled(1);
  await untilReady(pages, READY);
  worker.process.kill('SIGTERM');
  await untilReady(pages, notReady('stop', expect.stringContaining('is stopping')));
  expect(await ask(`${pages}/health`)).toEqual(ALIVE);
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'running' });
  model.release();
  expect(await worker.untilExit()).toBe(0);
  expect(await client.result('c1', 't1')).toMatchObject({ state: 'completed', answer: { content: 'ok' } });
});
