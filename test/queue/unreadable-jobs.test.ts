import { expect, test } from 'vitest';
import { writeWake } from '../../src/jobs/job.ts';
import { DEFAULT_PRIORITY } from '../../src/jobs/queues.ts';
import { conversation, turnRole, useFixture } from './fixture.ts';

const OPTIONS = { jobId: 'w-bad', priority: DEFAULT_PRIORITY };

test.each(['data', 'opts', 'progress', 'parent'])(
  'a worker removes a job whose field %s is not JSON, and takes the other jobs without a pause',
  async (field) => {
    const fixture = useFixture();
    const queue = fixture.openRaw('turn');
    await queue.add('turn', writeWake({ conversation: conversation('bad') }), OPTIONS);
    const redis = fixture.connect();
    await redis.hset(queue.toKey('w-bad'), field, '{"v":');
    const seen: string[] = [];
    await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
    const wakes = fixture.openWakes();
    await wakes.wake('turn', conversation('c1'), 'w1');
    // Less than the 15 s for which BullMQ stops a worker after an error.
    await expect.poll(() => seen, { timeout: 60_000 }).toContain('c1');
    await expect.poll(() => fixture.drops, { timeout: 60_000 }).toMatchObject([{ queue: 'turn', job: 'w-bad' }]);
    expect(await redis.exists(queue.toKey('w-bad'))).toBe(0);
    expect(seen).toEqual(['c1']);
  },
);

test('a worker that finishes a job removes the unreadable job after it, and continues with the next job', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const ids = ['w1', 'w2', 'w3'];
  for (const id of ids)
    await queue.add('turn', writeWake({ conversation: conversation(id) }), { ...OPTIONS, jobId: id });
  const redis = fixture.connect();
  await redis.hset(queue.toKey('w2'), { parent: '{"v":', parentKey: 'elsewhere' });
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['w1', 'w3']);
  await expect.poll(() => fixture.drops, { timeout: 60_000 }).toMatchObject([{ queue: 'turn', job: 'w2' }]);
  await expect.poll(() => redis.exists(queue.toKey('w2'))).toBe(0);
  expect(fixture.errors).toEqual([]);
});

test.each(['daily', 'a:b:c:d:e', ':'.repeat(4_000_000)])(
  'a queue job is handled once although its schedule does not exist: %.20s',
  async (schedule) => {
    const fixture = useFixture();
    const queue = fixture.openRaw('turn');
    await queue.add('turn', writeWake({ conversation: conversation('c1') }), { ...OPTIONS, jobId: 'w1' });
    await fixture.connect().hset(queue.toKey('w1'), 'rjk', schedule);
    const seen: string[] = [];
    await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
    await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['c1']);
    await expect
      .poll(() => queue.getJobCounts('active', 'wait'), { timeout: 60_000 })
      .toMatchObject({ active: 0, wait: 0 });
  },
);
