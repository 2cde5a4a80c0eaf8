import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { NEWER_PAYLOAD_TRIES, PAYLOAD_VERSION, writeWake } from '../../src/jobs/job.ts';
import { DEFAULT_PRIORITY, queuePrefix } from '../../src/jobs/queues.ts';
import { conversation, type Fixture, turnRole, useFixture } from './fixture.ts';

/** Data of a wake from a newer release, which this release cannot read. */
const NEWER = { v: PAYLOAD_VERSION + 1, who: ['_', 'c1'] };
const OPTIONS = { jobId: 'w-1', priority: DEFAULT_PRIORITY, removeOnComplete: true };

/** A worker of the newer release. It accepts data of any version. */
function openNewerWorker({ url, prefix }: Fixture): { readonly seen: unknown[] } {
  const seen: unknown[] = [];
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const worker = new Worker('turn', async (job) => void seen.push(job.data), {
    connection,
    prefix: queuePrefix(0, prefix),
  });
  onTestFinished(async () => {
    await worker.close();
    connection.disconnect();
  });
  return { seen };
}

test('an old worker leaves a job of a newer release unchanged for a newer worker', async () => {
  const fixture = useFixture();
  const seen: string[] = [];
  const old = fixture.openWorkers(turnRole(({ id }) => seen.push(id), 4));
  await old.start();
  const queue = fixture.openRaw('turn');
  await queue.add('turn', NEWER, OPTIONS);
  await expect.poll(() => queue.getDelayedCount(), { timeout: 60_000, interval: 10 }).toBe(1);
  // Other jobs continue meanwhile, and the newer worker takes the newer job.
  await fixture.openWakes().wake('turn', conversation('c2'), 'w2');
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['c2']);
  await old.close();
  const newer = openNewerWorker(fixture);
  await expect.poll(() => newer.seen, { timeout: 60_000 }).toEqual([NEWER]);
  expect(fixture.errors).toEqual([]);
});

test('an old worker removes a newer release’s job that no newer worker takes, and the sweeper adds a readable job instead', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const job = await queue.add('turn', NEWER, { ...OPTIONS, delay: 600_000 });
  // Sets the number of attempts as if old workers had delayed the job that often.
  const redis = fixture.connect();
  await redis.hset(queue.toKey(job.id ?? ''), 'ats', NEWER_PAYLOAD_TRIES);
  await job.promote();
  await fixture.openWorkers(turnRole()).start();
  await expect.poll(() => queue.getJobState('w-1'), { timeout: 60_000 }).toBe('unknown');
  expect(fixture.drops).toMatchObject([{ queue: 'turn', error: { code: 'invalid_input', field: 'job.data.v' } }]);
});

test('a worker ignores an unknown field in a job’s data', async () => {
  const fixture = useFixture();
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await fixture
    .openRaw('turn')
    .add('turn', { ...writeWake({ conversation: conversation('c1') }), trace: 'later' }, OPTIONS);
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['c1']);
  expect(fixture.errors).toEqual([]);
});

test('a worker takes a readable job before all due jobs of a newer release', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const ids = Array.from({ length: 50 }, (_, at) => `w-newer-${at}`);
  await queue.addBulk(ids.map((jobId) => ({ name: 'turn', data: NEWER, opts: { ...OPTIONS, jobId } })));
  const first = fixture.openWorkers(turnRole(() => undefined, 4));
  await first.start();
  await expect.poll(() => queue.getDelayedCount(), { timeout: 60_000, interval: 5 }).toBe(ids.length);
  await first.close();
  const redis = fixture.connect();
  const readTries = async (): Promise<number[]> =>
    await Promise.all(ids.map(async (id) => Number(await redis.hget(queue.toKey(id), 'ats'))));
  // On a busy machine, the first worker may have tried some of them twice.
  const tries = await readTries();
  // Moves the jobs as BullMQ does when their delays end. BullMQ's `promoteJobs` would lose their priority.
  for (const job of await queue.getDelayed(0, ids.length)) await job.promote();
  await fixture.openWakes().wake('turn', conversation('c2'), 'w2');
  const taken = async (): Promise<number> => (await readTries()).filter((count, at) => count > (tries[at] ?? 0)).length;
  const before: number[] = [];
  await fixture.openWorkers(turnRole(async () => before.push(await taken()))).start();
  await expect.poll(() => before, { timeout: 60_000 }).toEqual([0]);
});

test('an old worker doubles the delay of a newer release’s job each time', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const job = await queue.add('turn', NEWER, OPTIONS);
  await fixture.openWorkers(turnRole()).start();
  const delays: number[] = [];
  while (delays.length < NEWER_PAYLOAD_TRIES) {
    await expect.poll(() => queue.getDelayedCount(), { timeout: 60_000, interval: 5 }).toBe(1);
    delays.push((await queue.getJob('w-1'))?.delay ?? 0);
    await job.promote();
  }
  expect(delays.map((ms) => Math.round(ms / 1_000))).toEqual([1, 2, 4, 8, 16, 32]);
});
