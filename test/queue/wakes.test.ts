import { expect, test } from 'vitest';
import { conversation, countAll, turnRole, useFixture } from './fixture.ts';

const SOON = { timeout: 60_000, interval: 20 };

test('a wake job that is added to the queue twice is delivered once', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const seen: string[] = [];

  await wakes.wake('turn', conversation('c1'), 'same');
  await wakes.wake('turn', conversation('c1'), 'same');
  expect(await countAll(wakes)).toBe(1);
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id), 4)).start();

  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(seen).toEqual(['c1']);
});

test('every wake job in every queue shard is delivered once when several workers run', async () => {
  const fixture = useFixture({ shards: 3 });
  const wakes = fixture.openWakes();
  const seen: string[] = [];
  for (const _ of [1, 2]) await fixture.openWorkers(turnRole(({ id }) => seen.push(id), 4)).start();

  const ids = Array.from({ length: 300 }, (_, index) => `c${index}`);
  await Promise.all(ids.map((id) => wakes.wake('turn', conversation(id), `wake-${id}`)));

  await expect.poll(() => seen.length, SOON).toBe(300);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(new Set(seen)).toEqual(new Set(ids));
});

test('all wake jobs of a conversation are in one queue shard, and conversations are spread over all shards', async () => {
  const fixture = useFixture({ shards: 2 });
  const wakes = fixture.openWakes();
  await Promise.all(['a', 'b', 'c'].map((wake) => wakes.wake('turn', conversation('c1'), wake)));
  const lengths = async () =>
    Promise.all([0, 1].map(async (shard) => fixture.openRaw('turn', shard).getPrioritizedCount()));
  expect(new Set(await lengths())).toEqual(new Set([0, 3]));

  await Promise.all(
    Array.from({ length: 50 }, (_, index) => wakes.wake('turn', conversation(`d${index}`), `d${index}`)),
  );
  expect(Math.min(...(await lengths()))).toBeGreaterThan(5);
});

test('a wake job is delivered with the tenant of its conversation', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const seen: unknown[] = [];
  await wakes.wake('turn', { tenant: 'acme', id: 'c1' }, 'w1');
  await fixture.openWorkers(turnRole((ref) => seen.push(ref))).start();

  await expect.poll(() => seen, SOON).toEqual([{ tenant: 'acme', id: 'c1' }]);
});

test('wake jobs with a lower priority number are delivered first, and the default number is 10', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await wakes.wake('turn', conversation('late'), 'w1', { priority: 20 });
  await wakes.wake('turn', conversation('default'), 'w2');
  await wakes.wake('turn', conversation('early'), 'w3', { priority: 1 });
  await wakes.wake('turn', conversation('none'), 'w4', { priority: 0 }); // no priority would overtake all
  await wakes.wake('turn', conversation('nine'), 'w5', { priority: 9 });
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();

  await expect.poll(() => seen, SOON).toEqual(['early', 'none', 'nine', 'default', 'late']);
});

test('the queue accepts a wake id that consists of digits only', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await wakes.wake('pass', conversation('c1'), '42');

  expect(await wakes.isPending('pass', conversation('c1'), '42')).toBe(true);
});

test('isPending signals an idle worker again if the wake job still waits', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const redis = fixture.connect();
  const marker = fixture.openRaw('turn').toKey('marker');
  await wakes.wake('turn', conversation('c1'), 'w1');
  await redis.del(marker); // as a worker does that then dies
  expect(await wakes.isPending('turn', conversation('c1'), 'never added')).toBe(false);
  expect(await redis.exists(marker)).toBe(0);
  expect(await wakes.isPending('turn', conversation('c1'), 'w1')).toBe(true);
  expect(await redis.zrange(marker, '0', '-1', 'WITHSCORES')).toEqual(['0', '0']);
});

test('a wake job counts as pending while it is prioritized, waiting or delayed', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const isPending = (wake: string) => wakes.isPending('turn', conversation('c1'), wake);
  for (const wake of ['a', 'b', 'c']) await wakes.wake('turn', conversation('c1'), wake);
  await raw.add('turn', {}, { jobId: 'w-waiting' });
  await raw.add('turn', {}, { jobId: 'w-delayed', delay: 60_000 });

  expect(await raw.getJobState('w-c')).toBe('prioritized');
  expect(await isPending('c')).toBe(true);
  expect(await raw.getJobState('w-waiting')).toBe('waiting');
  expect(await isPending('waiting')).toBe(true);
  expect(await isPending('delayed')).toBe(true);
  expect(await isPending('never added')).toBe(false);
  expect(await wakes.isPending('pass', conversation('c1'), 'c')).toBe(false);
});

test('a wake job does not count as pending while a worker handles it, or after that', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const role = turnRole(async () => {
    entered.resolve();
    await gate.promise;
  });
  await wakes.wake('turn', conversation('c1'), 'w1');
  await fixture.openWorkers(role).start();

  await entered.promise;
  expect(await fixture.openRaw('turn').getJobState('w-w1')).toBe('active');
  expect(await wakes.isPending('turn', conversation('c1'), 'w1')).toBe(false);
  gate.resolve();
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(await wakes.isPending('turn', conversation('c1'), 'w1')).toBe(false);
});

test.each([
  ['no version', { tenant: '_', id: 'c1' }, 'job.data.v'],
  ['an id with a colon', { v: 1, tenant: '_', id: 'a:b' }, 'job.data.id'],
  ['nothing', null, 'job.data'],
])('a worker removes and reports a job whose data cannot be read: %s', async (_case, data, field) => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const seen: string[] = [];
  await fixture.openRaw('turn').add('turn', data, { jobId: 'bad', removeOnComplete: false, removeOnFail: false });
  await wakes.wake('turn', conversation('good'), 'w1');
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();

  await expect.poll(() => seen, SOON).toEqual(['good']);
  await expect.poll(() => fixture.openRaw('turn').getJobState('bad'), SOON).toBe('unknown');
  expect(fixture.drops).toEqual([
    { queue: 'turn', job: 'bad', error: expect.objectContaining({ code: 'invalid_input', field }) },
  ]);
});

test('an error of a wake job’s handler is reported, and the queue removes the wake job without a retry', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const failure = new Error('the store is away');
  let runs = 0;
  const role = turnRole(() => {
    runs += 1;
    throw failure;
  });
  await wakes.wake('turn', conversation('c1'), 'w1');
  await fixture.openWorkers(role).start();

  await expect.poll(() => fixture.errors, SOON).toEqual([{ where: 'turn', error: failure }]);
  expect(await countAll(wakes)).toBe(0);
  expect(runs).toBe(1);
});

test('queue gauges count jobs by queue and state over all shards, and measure waits by queue and shard', async () => {
  const fixture = useFixture({ shards: 2 });
  const wakes = fixture.openWakes();
  expect(await wakes.readShardWaits()).toContainEqual({ queue: 'turn', shard: 1, waitMs: undefined });
  const hourAgo = Date.now() - 3_600_000;
  await fixture.openRaw('turn', 1).add('turn', {}, { jobId: 'old', priority: 10, timestamp: hourAgo });
  for (let index = 0; index < 20; index += 1) await wakes.wake('turn', conversation(`c${index}`), `w${index}`);
  await wakes.wake('pass', conversation('c1'), 'w1');
  await fixture.openRaw('summarization').add('s', {}, { jobId: 'later', delay: 60_000 });

  const counts = await wakes.countJobs();
  expect(counts).toHaveLength(18);
  const waiting = counts.filter(({ queue, state }) => queue === 'turn' && ['waiting', 'prioritized'].includes(state));
  expect(waiting.reduce((sum, { count }) => sum + count, 0)).toBe(21);
  expect(counts).toContainEqual({ queue: 'compaction', state: 'prioritized', count: 1 });
  expect(counts).toContainEqual({ queue: 'summarization', state: 'delayed', count: 1 });
  expect(counts).toContainEqual({ queue: 'turn', state: 'waiting-children', count: 0 });
  const waits = new Map(
    (await wakes.readShardWaits()).map(({ queue, shard, waitMs }) => [`${queue} ${shard}`, waitMs]),
  );
  expect(waits.get('turn 0')).toBeLessThan(60_000);
  expect(waits.get('turn 1')).toBeGreaterThanOrEqual(3_600_000);
  expect([waits.get('compaction 0'), waits.get('compaction 1')].filter((waitMs) => waitMs !== undefined)).toHaveLength(
    1,
  );
  expect(waits.get('summarization 0')).toBeUndefined();
});
