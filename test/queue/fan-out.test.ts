import { UnrecoverableError, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { IN_FLIGHT_DELAY_MS, summarizeJob } from '../../src/jobs/job.ts';
import type { PassDelivery, PassHandler, SummarizationDelivery, SummarizationHandler } from '../../src/jobs/ports.ts';
import { queuePrefix } from '../../src/jobs/queues.ts';
import { childOf, conversation, countAll, type Fixture, useFixture, writesSummary } from './fixture.ts';

const SOON = { timeout: 60_000, interval: 20 };
const c1 = conversation('c1');

/**
 * A job handler that makes each job wait once for the child jobs that the test gives it, and records every delivery.
 */
function parkOn(children: (delivery: PassDelivery) => ReturnType<typeof childOf>[]) {
  const deliveries: PassDelivery[] = [];
  const handler: PassHandler = async (delivery) => {
    deliveries.push(delivery);
    return delivery.haveChildrenEnded ? { status: 'done' } : { status: 'parked', children: children(delivery) };
  };
  return { deliveries, handler };
}

function makeChildren(passId: string, count: number) {
  return Array.from({ length: count }, (_, index) => childOf(passId, index));
}

async function startRoles(fixture: Fixture, pass: PassHandler, summarize: SummarizationHandler): Promise<void> {
  const compaction = { handler: pass, concurrency: 2 };
  await fixture.openWorkers({ compaction, summarization: { handler: summarize, concurrency: 4 } }).start();
}

async function countKeys(fixture: Fixture): Promise<number> {
  const redis = fixture.connect();
  const keys = await redis.keys(`{${fixture.prefix}/tq*}:*`);
  // Without the keys that a queue always has, however many jobs it had.
  return keys.filter((key) => !/:(meta|events|pc|marker|stalled-check|id|metrics:\w+(:data)?)$/.test(key)).length;
}

// 1,200 child jobs are added in three transactions.
test.each([0, 1, 5, 200, 1_200])(
  'a compaction pass that waits for %i child jobs is delivered once more when all of them have ended',
  async (width) => {
    const fixture = useFixture();
    const wakes = fixture.openWakes();
    const { deliveries, handler } = parkOn(() => makeChildren('p1', width));
    const ended: string[] = [];
    let endedBefore: number | undefined;
    await startRoles(
      fixture,
      async (delivery) => {
        if (delivery.haveChildrenEnded) endedBefore = ended.length;
        return await handler(delivery);
      },
      async ({ task }) => {
        ended.push(task.hash);
        return { status: 'ended', outcome: 'written' };
      },
    );
    await wakes.wake('pass', c1, 'w1');

    await expect.poll(() => deliveries.length, SOON).toBe(2);
    await expect.poll(() => countAll(wakes), SOON).toBe(0);
    expect(deliveries).toEqual([
      { conversation: c1, job: 'w-w1', haveChildrenEnded: false },
      { conversation: c1, job: 'w-w1', haveChildrenEnded: true },
    ]);
    expect(endedBefore).toBe(width);
    expect(new Set(ended).size).toBe(width);
    expect(ended).toHaveLength(width);
    expect(await countKeys(fixture)).toBe(0);
    expect(fixture.errors).toEqual([]);
  },
);

test('a delivered summarization job contains its whole task and no other data', async () => {
  const fixture = useFixture();
  const tasks: unknown[] = [];
  const child = childOf('p1', 3);
  await startRoles(fixture, parkOn(() => [child]).handler, async ({ task }) => {
    tasks.push(task);
    return { status: 'ended', outcome: 'written' };
  });
  await fixture.openWakes().wake('pass', c1, 'w1');

  const { child: _, ...task } = child;
  await expect.poll(() => tasks, SOON).toEqual([task]);
});

test('a compaction pass that ends in its first delivery adds no child jobs', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  let runs = 0;
  const handler: PassHandler = async () => {
    runs += 1;
    return { status: 'done' };
  };
  await startRoles(fixture, handler, writesSummary);
  await wakes.wake('pass', c1, 'w1');

  await expect.poll(() => runs, SOON).toBe(1);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
});

test('a summarization job that fails on every attempt returns its failure, and delays neither the other four jobs nor their compaction pass', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { deliveries, handler } = parkOn(() => makeChildren('p1', 5));
  const attempts: boolean[] = [];
  const failure = new Error('no model answers');
  await startRoles(fixture, handler, ({ task, isLastAttempt }) => {
    if (task.hash !== childOf('p1', 2).hash) return writesSummary({} as SummarizationDelivery);
    attempts.push(isLastAttempt);
    return Promise.reject(failure);
  });
  await wakes.wake('pass', c1, 'w1');

  await expect.poll(() => deliveries.map((one) => one.haveChildrenEnded), SOON).toEqual([false, true]);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(attempts).toEqual([false, false, true]);
  // The last error is a bug of the handler: on the last attempt, a handler must return its failure instead of throwing
  // it.
  expect(fixture.errors).toEqual(
    Array.from({ length: summarizeJob.attempts }, () => ({ where: 'summarization', error: failure })),
  );
  expect(await countKeys(fixture)).toBe(0);
});

test('a summarization job whose data cannot be read returns a failure and is reported', async () => {
  const fixture = useFixture();
  const { deliveries, handler } = parkOn(() => [{ ...childOf('p1', 0), hash: 'not a hash' }, childOf('p1', 1)]);
  await startRoles(fixture, handler, writesSummary);
  await fixture.openWakes().wake('pass', c1, 'w1');

  await expect.poll(() => deliveries.length, SOON).toBe(2);
  expect(fixture.drops).toMatchObject([
    { queue: 'summarization', error: { code: 'invalid_input', field: 'job.data.hash' } },
  ]);
});

test('a compaction pass continues when another program has failed its child jobs for good', async () => {
  const fixture = useFixture();
  const { deliveries, handler } = parkOn(() => makeChildren('p1', 2));
  await fixture.openWorkers({ compaction: { handler, concurrency: 1 } }).start();
  const connection = new Redis(fixture.url, { maxRetriesPerRequest: null });
  const stranger = new Worker('summarization', () => Promise.reject(new UnrecoverableError('no')), {
    connection,
    prefix: queuePrefix(0, fixture.prefix),
  });
  stranger.on('error', () => undefined);
  onTestFinished(async () => {
    await stranger.close();
    connection.disconnect();
  });
  await fixture.openWakes().wake('pass', c1, 'w1');

  await expect.poll(() => deliveries.map((one) => one.haveChildrenEnded), SOON).toEqual([false, true]);
});

test('two queue jobs of the same compaction pass can add child jobs at the same time, under different ids', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { deliveries, handler } = parkOn(({ job }) =>
    [0, 1, 2].map((index) => childOf('p1', index, `s-${job}-${index}`)),
  );
  const gate = Promise.withResolvers<void>();
  let summaries = 0;
  await startRoles(fixture, handler, async () => {
    await gate.promise;
    summaries += 1;
    return { status: 'ended', outcome: 'known' };
  });
  await wakes.wake('pass', c1, 'w1');
  await wakes.wake('pass', c1, 'w2');
  await expect.poll(async () => (await wakes.countJobs()).find(isParked)?.count, SOON).toBe(2);
  gate.resolve();

  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(summaries).toBe(6);
  const again = deliveries.filter((one) => one.haveChildrenEnded).map((one) => one.job);
  expect(again.toSorted()).toEqual(['w-w1', 'w-w2']);
  expect(fixture.errors).toEqual([]);
});

test('after a worker added child jobs and died, the next delivery of the compaction pass checks whether these child jobs have ended', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const children = fixture.openRaw('summarization');
  const parent = { queue: `${queuePrefix(0, fixture.prefix)}:compaction` };
  for (const wake of ['ended', 'pending']) await wakes.wake('pass', c1, wake);
  for (const [child, wake] of [
    ['s-1', 'ended'],
    ['s-2', 'pending'],
    ['s-3', 'pending'],
  ] as const) {
    await children.add('summarization', {}, { jobId: child, parent: { ...parent, id: `w-${wake}` } });
  }
  const stranger = new Worker('summarization', null, {
    connection: await children.getBackend().client,
    prefix: queuePrefix(0, fixture.prefix),
  });
  onTestFinished(() => stranger.close());
  for (const child of ['s-1', 's-2']) {
    const job = await stranger.getNextJob('token');
    expect(job.id).toBe(child);
    await job.moveToCompleted('written', 'token', false);
  }
  const { deliveries, handler } = parkOn(() => makeChildren('p1', 1));
  await fixture.openWorkers({ compaction: { handler, concurrency: 1 } }).start();

  await expect
    .poll(() => deliveries, SOON)
    .toEqual([
      { conversation: c1, job: 'w-ended', haveChildrenEnded: true },
      { conversation: c1, job: 'w-pending', haveChildrenEnded: false },
    ]);
});

test('the wake job of a compaction pass that waits for child jobs is not pending, so another wake job can be added', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await fixture
    .openWorkers({ compaction: { handler: parkOn(() => makeChildren('p1', 1)).handler, concurrency: 1 } })
    .start();
  await wakes.wake('pass', c1, 'w1');
  await expect.poll(async () => (await wakes.countJobs()).find(isParked)?.count, SOON).toBe(1);

  expect(await wakes.isPending('pass', c1, 'w1')).toBe(false);
});

test('a child job is refused and reported if another compaction pass still uses its id', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await fixture
    .openWorkers({ compaction: { handler: parkOn(() => makeChildren('p1', 1)).handler, concurrency: 1 } })
    .start();
  await wakes.wake('pass', c1, 'w1');
  await wakes.wake('pass', c1, 'w2');

  await expect.poll(() => fixture.errors.length, SOON).toBe(1);
  expect(fixture.errors).toMatchObject([
    { where: 'compaction', error: { message: 'BullMQ refused to add a child job to job w-w2 (code -7)' } },
  ]);
});

test('a compaction pass that asks for other child jobs after its first child jobs waits for these as well', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const deliveries: boolean[] = [];
  const ended: string[] = [];
  await startRoles(
    fixture,
    async ({ haveChildrenEnded }) => {
      deliveries.push(haveChildrenEnded);
      const round = deliveries.length;
      const children = [0, 1, 2].map((index) => childOf('p1', index, `s-${round}-${index}`));
      return round <= 2 ? { status: 'parked', children } : { status: 'done' };
    },
    async ({ task }) => {
      ended.push(task.hash);
      return { status: 'ended', outcome: 'written' };
    },
  );
  await wakes.wake('pass', c1, 'w1');

  await expect.poll(() => deliveries, SOON).toEqual([false, true, true]);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(ended).toHaveLength(6);
  expect(await countKeys(fixture)).toBe(0);
  expect(fixture.errors).toEqual([]);
});

test('a compaction pass that repeatedly waits for no child jobs is reported as a bug and does not loop', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await startRoles(fixture, async () => ({ status: 'parked', children: [] }), writesSummary);
  await wakes.wake('pass', c1, 'w1');

  await expect.poll(() => fixture.errors, SOON).toMatchObject([{ where: 'compaction' }]);
  expect(await countAll(wakes)).toBe(0);
});

test('a summarization job is delayed by a second, without using an attempt, while another job summarizes the same messages', async () => {
  const fixture = useFixture();
  const { deliveries, handler } = parkOn(() => makeChildren('p1', 1));
  const isLast: boolean[] = [];
  const startedAt = Date.now();
  const summarize: SummarizationHandler = async ({ isLastAttempt }) => {
    isLast.push(isLastAttempt);
    if (isLast.length <= summarizeJob.attempts) return { status: 'in_flight' };
    return { status: 'ended', outcome: 'written' };
  };
  await startRoles(fixture, handler, summarize);
  await fixture.openWakes().wake('pass', c1, 'w1');

  await expect.poll(() => deliveries.length, SOON).toBe(2);
  expect(isLast).toEqual([false, false, false, false]);
  // At least the requested delays must have passed. Three of them are between four attempts.
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(summarizeJob.attempts * IN_FLIGHT_DELAY_MS);
  expect(fixture.errors).toEqual([]);
});

test('a provider’s rate limit delays a summarization job until the limit ends, at least by a second, without using an attempt', async () => {
  const fixture = useFixture();
  const { deliveries, handler } = parkOn(() => makeChildren('p1', 1));
  const attempts: { at: number; requestedAt: number; isLastAttempt: boolean }[] = [];
  const waits = [1_500, -60_000, 0];
  const summarize: SummarizationHandler = async ({ requestedAt, isLastAttempt }) => {
    const at = Date.now();
    const waitMs = waits[attempts.length];
    attempts.push({ at, requestedAt, isLastAttempt });
    return waitMs === undefined ? { status: 'ended', outcome: 'written' } : { status: 'limited', retryAt: at + waitMs };
  };
  const startedAt = Date.now();
  await startRoles(fixture, handler, summarize);
  await fixture.openWakes().wake('pass', c1, 'w1');

  await expect.poll(() => deliveries.length, SOON).toBe(2);
  expect(attempts.map(({ isLastAttempt }) => isLastAttempt)).toEqual([false, false, false, false]);
  expect(new Set(attempts.map(({ requestedAt }) => requestedAt)).size).toBe(1);
  expect(attempts[0]?.requestedAt).toBeGreaterThanOrEqual(startedAt);
  // At least the requested delays must have passed.
  const gaps = attempts.slice(1).map(({ at }, index) => at - (attempts[index]?.at ?? 0));
  expect(gaps[0]).toBeGreaterThanOrEqual(1_500);
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(IN_FLIGHT_DELAY_MS);
  expect(fixture.errors).toEqual([]);
});

function isParked({ queue, state }: { queue: string; state: string }): boolean {
  return queue === 'compaction' && state === 'waiting-children';
}
