import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { NEWER_PAYLOAD_TRIES, PAYLOAD_VERSION, writeWake } from '../../src/jobs/job.ts';
import { DEFAULT_PRIORITY, queuePrefix } from '../../src/jobs/queues.ts';
import { conversation, type Fixture, useFixture } from './fixture.ts';

/** A wake of a later program, which this one cannot read. */
const NEWER = { v: PAYLOAD_VERSION + 1, who: ['_', 'c1'] };
const OPTIONS = { jobId: 'w-1', priority: DEFAULT_PRIORITY, removeOnComplete: true };

/** A worker of that program: it takes what it knows, whatever the version. */
function openNewerWorker({ url, namespace }: Fixture): { readonly seen: unknown[] } {
  const seen: unknown[] = [];
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const worker = new Worker('turn', async (job) => void seen.push(job.data), {
    connection,
    prefix: queuePrefix(0, namespace),
  });
  onTestFinished(async () => {
    await worker.close();
    connection.disconnect();
  });
  return { seen };
}

test('a job of a newer program is left unchanged to a worker that knows it', async () => {
  const fixture = useFixture();
  const seen: string[] = [];
  const old = fixture.openWorkers({ turn: { handler: async ({ id }) => void seen.push(id), concurrency: 4 } });
  await old.start();
  const queue = fixture.openRaw('turn');
  await queue.add('turn', NEWER, OPTIONS);
  await expect.poll(() => queue.getDelayedCount(), { timeout: 60_000, interval: 10 }).toBe(1);
  // Others go on meanwhile, and who knows it finds it.
  await fixture.openWakes().wake('turn', conversation('c2'), 'w2');
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['c2']);
  await old.close();
  const newer = openNewerWorker(fixture);
  await expect.poll(() => newer.seen, { timeout: 60_000 }).toEqual([NEWER]);
  expect(fixture.errors).toEqual([]);
});

test('a job of a newer program is dropped if no worker knows it, and the sweeper adds one that can be read', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const job = await queue.add('turn', NEWER, { ...OPTIONS, delay: 600_000 });
  // As if it had been left to others so often.
  const redis = new Redis(fixture.url);
  onTestFinished(() => redis.disconnect());
  await redis.hset(queue.toKey(job.id ?? ''), 'ats', NEWER_PAYLOAD_TRIES);
  await job.promote();
  await fixture.openWorkers({ turn: { handler: async () => undefined, concurrency: 1 } }).start();
  await expect.poll(() => queue.getJobState('w-1'), { timeout: 60_000 }).toBe('unknown');
  expect(fixture.drops).toMatchObject([{ queue: 'turn', error: { code: 'invalid_input', field: 'job.data.v' } }]);
});

test('an unknown field of a payload is ignored', async () => {
  const fixture = useFixture();
  const seen: string[] = [];
  await fixture.openWorkers({ turn: { handler: async ({ id }) => void seen.push(id), concurrency: 1 } }).start();
  await fixture
    .openRaw('turn')
    .add('turn', { ...writeWake({ conversation: conversation('c1') }), trace: 'later' }, OPTIONS);
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['c1']);
  expect(fixture.errors).toEqual([]);
});

test('an ordinary job is served before all due jobs of a newer program', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const ids = Array.from({ length: 50 }, (_, at) => `w-newer-${at}`);
  await queue.addBulk(ids.map((jobId) => ({ name: 'turn', data: NEWER, opts: { ...OPTIONS, jobId } })));
  const first = fixture.openWorkers({ turn: { handler: async () => undefined, concurrency: 4 } });
  await first.start();
  await expect.poll(() => queue.getDelayedCount(), { timeout: 20_000, interval: 5 }).toBe(ids.length);
  await first.close();
  // As when their delays end. `promoteJobs` would forget their priority.
  for (const job of await queue.getDelayed(0, ids.length)) await job.promote();
  await fixture.openWakes().wake('turn', conversation('c2'), 'w2');
  const redis = new Redis(fixture.url);
  onTestFinished(() => redis.disconnect());
  const taken = async (): Promise<number> => {
    const counts = await Promise.all(ids.map((id) => redis.hget(queue.toKey(id), 'ats')));
    return counts.filter((count) => Number(count) > 1).length;
  };
  const before: number[] = [];
  const handler = async (): Promise<undefined> => {
    before.push(await taken());
    return undefined;
  };
  await fixture.openWorkers({ turn: { handler, concurrency: 1 } }).start();
  await expect.poll(() => before, { timeout: 20_000 }).toEqual([0]);
});

test('a job of a newer program is put off for twice as long each time', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const job = await queue.add('turn', NEWER, OPTIONS);
  await fixture.openWorkers({ turn: { handler: async () => undefined, concurrency: 1 } }).start();
  const delays: number[] = [];
  while (delays.length < NEWER_PAYLOAD_TRIES) {
    await expect.poll(() => queue.getDelayedCount(), { timeout: 20_000, interval: 5 }).toBe(1);
    delays.push((await queue.getJob('w-1'))?.delay ?? 0);
    await job.promote();
  }
  expect(delays.map((ms) => Math.round(ms / 1_000))).toEqual([1, 2, 4, 8, 16, 32]);
});

test('ordinary jobs are served at once while 5,000 jobs of a newer program are retried', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const redis = new Redis(fixture.url);
  onTestFinished(() => redis.disconnect());
  const ids = Array.from({ length: 5_000 }, (_, at) => `w-newer-${at}`);
  await queue.addBulk(ids.map((jobId) => ({ name: 'turn', data: NEWER, opts: { ...OPTIONS, jobId } })));
  const keys = ids.map((id) => queue.toKey(id));
  /** Deliveries of all newer jobs so far. */
  const countDeliveries = async (): Promise<number> => Number(await redis.call('eval', [SUM, keys.length, ...keys]));
  /** Ordinary job → deliveries of newer jobs before it. */
  const served = new Map<string, number>();
  const handler = async ({ id }: ConversationRef): Promise<undefined> => {
    served.set(id, await countDeliveries());
    return undefined;
  };
  const wakes = fixture.openWakes();
  await wakes.wake('turn', conversation('first'), 'w-first');
  await fixture.openWorkers({ turn: { handler, concurrency: 4 } }).start();
  await expect.poll(() => served.get('first')).toBeDefined();

  // Until each of them has been retried once.
  const ahead: number[] = [];
  let before = await countDeliveries();
  for (let number = 0; before < 2 * ids.length; number += 1) {
    await wakes.wake('turn', conversation(`c${number}`), `w-${number}`);
    await expect.poll(() => served.get(`c${number}`), { interval: 1 }).toBeDefined();
    ahead.push((served.get(`c${number}`) ?? 0) - before);
    before = await countDeliveries();
  }
  expect(await queue.getJobCountByTypes('delayed', 'prioritized', 'active'), 'all are left').toBe(ids.length);
  // Jobs are taken between a count and the wake, and some were in hand. With one priority for all jobs it is thousands.
  const few = ids.length / 10;
  expect(Math.max(...ahead)).toBeLessThan(few);
  // Before its first delivery a job is not known to be newer. Each was ahead of the first job once.
  expect(served.get('first')).toBeLessThan(ids.length + few);
  expect([fixture.errors, fixture.drops]).toEqual([[], []]);
});

const SUM = `
local sum = 0
for _, key in ipairs(KEYS) do sum = sum + tonumber(redis.call('HGET', key, 'ats') or 0) end
return sum`;
