import { expect, onTestFinished, test } from 'vitest';
import type { OpenWakeQueue } from '../../src/jobs/bullmq/wake-queue.ts';
import { summarizeJob } from '../../src/jobs/job.ts';
import type { PassHandler, SummarizationHandler } from '../../src/jobs/ports.ts';
import { type QueueName, queuePrefix } from '../../src/jobs/queues.ts';
import {
  childOf,
  conversation,
  countAll,
  type Fixture,
  startOwnRedis,
  turnRole,
  useFixture,
  writesSummary,
} from './fixture.ts';

const SOON = { timeout: 60_000, interval: 20 };
const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

/** Wait of the oldest job in the first shard. Undefined if no job waits. */
async function readWait(wakes: OpenWakeQueue, queue: QueueName): Promise<number | undefined> {
  return (await wakes.readShardWaits()).find((wait) => wait.queue === queue && wait.shard === 0)?.waitMs;
}

function keyOf(fixture: Fixture, queue: QueueName, name: string): string {
  return `${queuePrefix(0, fixture.prefix)}:${queue}:${name}`;
}

/** A compaction pass that was requested an hour ago has come back from its child jobs, while all workers are busy. */
async function bringPassBack(fixture: Fixture, wakes: OpenWakeQueue): Promise<{ readonly backAt: number }> {
  const hold = Promise.withResolvers<void>();
  const summaries = Promise.withResolvers<void>();
  const seen: string[] = [];
  const handler: PassHandler = async ({ conversation: { id }, haveChildrenEnded }) => {
    seen.push(id);
    if (id === 'busy') await hold.promise;
    const isDone = id === 'busy' || haveChildrenEnded;
    return isDone ? { status: 'done' } : { status: 'parked', children: [childOf('p1', 0)] };
  };
  const summarize: SummarizationHandler = async (delivery) => {
    await summaries.promise;
    return await writesSummary(delivery);
  };
  const raw = fixture.openRaw('compaction');
  const data = { v: 1, ...conversation('parent') };
  await raw.add('pass', data, { jobId: 'parent', priority: 10, timestamp: Date.now() - HOUR_MS });
  const roles = { compaction: { handler, concurrency: 1 }, summarization: { handler: summarize, concurrency: 1 } };
  await fixture.openWorkers(roles).start();
  onTestFinished(() => hold.resolve());
  await expect.poll(() => raw.getJobState('parent'), SOON).toBe('waiting-children');
  await wakes.wake('pass', conversation('busy'), 'w1');
  await expect.poll(() => seen, SOON).toEqual(['parent', 'busy']);
  summaries.resolve();
  await expect.poll(() => raw.getJobState('parent'), SOON).toBe('prioritized');
  return { backAt: Date.now() };
}

test('the reported queue wait of a compaction pass counts from the end of its child jobs, not from the time when the pass was added', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { backAt } = await bringPassBack(fixture, wakes);

  await expect.poll(() => readWait(wakes, 'compaction'), SOON).toBeGreaterThan(100);
  const before = Date.now() - backAt;
  const waitMs = (await readWait(wakes, 'compaction')) ?? 0;
  expect(waitMs).toBeGreaterThanOrEqual(before);
  expect(waitMs).toBeLessThan(60 * SECOND_MS);
});

test('the reported queue wait of a job counts from the oldest queue event if no event shows when the job came back', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await bringPassBack(fixture, wakes);
  const redis = fixture.connect();
  const events = keyOf(fixture, 'compaction', 'events');
  await redis.del(events);
  expect(await readWait(wakes, 'compaction')).toBe(0);

  await redis.xadd(events, Date.now() - 30 * SECOND_MS, 'event', 'active', 'jobId', 'another');
  expect(await readWait(wakes, 'compaction')).toBeGreaterThanOrEqual(30 * SECOND_MS);
  expect(await readWait(wakes, 'compaction')).toBeLessThan(60 * SECOND_MS);

  // This job entered the queue before the jobs that are behind it.
  const raw = fixture.openRaw('compaction');
  await raw.add('pass', {}, { jobId: 'behind', priority: 10, timestamp: Date.now() - 600 * SECOND_MS });
  expect(await readWait(wakes, 'compaction')).toBeGreaterThanOrEqual(600 * SECOND_MS);
  expect(await readWait(wakes, 'compaction')).toBeLessThan(660 * SECOND_MS);
});

test('the reported queue wait of a retried job counts from its return to the queue, not from the time when it was added', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const hold = Promise.withResolvers<void>();
  const raw = fixture.openRaw('summarization');
  for (const index of [0, 1]) {
    const { child: jobId, ...task } = childOf('p1', index);
    const backoff = { type: 'fixed', delay: 100 };
    const options = { jobId, priority: 10, attempts: 3, backoff, timestamp: Date.now() - HOUR_MS };
    await raw.add('summarization', summarizeJob.write(task), options);
  }
  const fails: SummarizationHandler = () => Promise.reject(new Error('no model answers'));
  const failing = fixture.openWorkers({ summarization: { handler: fails, concurrency: 2 } });
  await failing.start();
  await expect.poll(() => fixture.errors.length, SOON).toBeGreaterThanOrEqual(2);
  await failing.close();
  await expect.poll(() => readWait(wakes, 'summarization'), SOON).toBeGreaterThan(0);
  expect(await readWait(wakes, 'summarization')).toBeLessThan(60 * SECOND_MS);

  const holds: SummarizationHandler = async (delivery) => {
    await hold.promise;
    return await writesSummary(delivery);
  };
  await fixture.openWorkers({ summarization: { handler: holds, concurrency: 1 } }).start();
  onTestFinished(() => hold.resolve());
  await expect.poll(async () => [await raw.getPrioritizedCount(), await raw.getActiveCount()], SOON).toEqual([1, 1]);
  expect(await readWait(wakes, 'summarization')).toBeLessThan(60 * SECOND_MS);
  await expect.poll(() => readWait(wakes, 'summarization'), SOON).toBeGreaterThan(100);
});

test('the reported queue wait of a delayed job counts from its due time, even if no worker has moved the job yet', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  await raw.add('turn', {}, { jobId: 'later', priority: 10, delay: HOUR_MS });
  expect(await readWait(wakes, 'turn')).toBeUndefined();

  const delay = HOUR_MS - 20 * SECOND_MS;
  await raw.add('turn', {}, { jobId: 'due', priority: 10, delay, timestamp: Date.now() - HOUR_MS });
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(20 * SECOND_MS);
  expect(await readWait(wakes, 'turn')).toBeLessThan(60 * SECOND_MS);

  await (await raw.getJob('due'))?.promote();
  expect(await raw.getJobState('due')).toBe('prioritized');
  expect(await readWait(wakes, 'turn')).toBeLessThan(20 * SECOND_MS);
});

test('the reported queue wait includes a job that was taken back from a dead worker, which waits before all other jobs', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await wakes.wake('turn', conversation('c1'), 'w1');
  await fixture.openRaw('turn').add('turn', {}, { jobId: 'given back', timestamp: Date.now() - HOUR_MS });
  expect(await countAll(wakes)).toBe(2);
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(HOUR_MS);
});

test('among jobs taken back from dead workers, the first job has the longest wait, although the last job is taken first', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const redis = fixture.connect();
  const raw = fixture.openRaw('turn');
  const names = ['wait', 'prioritized', 'events'];
  const [wait, prioritized, events] = names.map((name) => keyOf(fixture, 'turn', name)) as [string, string, string];
  const now = Date.now();
  const ages = { longest: 600 * SECOND_MS, newest: SECOND_MS };
  for (const id of Object.keys(ages)) {
    const data = { v: 1, ...conversation(id) };
    await raw.add('turn', data, { jobId: id, priority: 10, timestamp: now - HOUR_MS });
    await redis.hset(raw.toKey(id), 'ats', 1);
  }
  await redis.del(prioritized, events);
  for (const [id, ageMs] of Object.entries(ages)) {
    // Simulates how BullMQ takes back a job from a dead worker.
    await redis.rpush(wait, id);
    await redis.xadd(events, now - ageMs, 'event', 'waiting', 'jobId', id, 'prev', 'active');
  }
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(600 * SECOND_MS);
  expect(await readWait(wakes, 'turn')).toBeLessThan(660 * SECOND_MS);

  const hold = Promise.withResolvers<void>();
  const seen: string[] = [];
  const role = turnRole(async ({ id }) => {
    seen.push(id);
    await hold.promise;
  });
  await fixture.openWorkers(role).start();
  onTestFinished(() => hold.resolve());
  await expect.poll(() => seen, SOON).toEqual(['newest']);
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(600 * SECOND_MS);
});

test('a report of queue waits reads a queue’s events once if a job came back to the queue, and otherwise not at all', async (context) => {
  const fixture = useFixture(await startOwnRedis(context));
  const wakes = fixture.openWakes();
  const redis = fixture.connect();
  const countReads = async (): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(/^cmdstat_xrevrange:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  };
  const raw = fixture.openRaw('turn');
  for (let priority = 1; priority <= 12; priority += 1) {
    await raw.add('turn', {}, { jobId: `p${priority}`, priority, timestamp: Date.now() - HOUR_MS });
  }
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(HOUR_MS);
  expect(await countReads()).toBe(0);

  for (let priority = 1; priority <= 12; priority += 1) await redis.hset(raw.toKey(`p${priority}`), 'ats', 1);
  expect(await readWait(wakes, 'turn')).toBeLessThan(60 * SECOND_MS);
  expect(await countReads()).toBe(1);
});

test('the reported longest wait of a queue includes jobs with low priority', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const now = Date.now();
  const ages = { 1: SECOND_MS, 7: HOUR_MS, 200_000: 60 * SECOND_MS };
  for (const [priority, ageMs] of Object.entries(ages)) {
    const options = { priority: Number(priority), timestamp: now - ageMs };
    await raw.add('turn', {}, { ...options, jobId: `oldest-${priority}` });
    await raw.add('turn', {}, { ...options, jobId: `newer-${priority}`, timestamp: now });
  }
  expect(await readWait(wakes, 'turn')).toBeGreaterThanOrEqual(HOUR_MS);
});
