import { EventEmitter } from 'node:events';
import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deliverTurns } from '../../src/jobs/bullmq/delivery.ts';
import { DueWakeRunner } from '../../src/jobs/bullmq/due-wake-runner.ts';
import { DueWakes } from '../../src/jobs/bullmq/due-wakes.ts';
import { openQueueConnection } from '../../src/jobs/bullmq/queue-connection.ts';
import { Intake, openQueueWorker } from '../../src/jobs/bullmq/queue-worker.ts';
import type { OpenWakeQueue } from '../../src/jobs/bullmq/wake-queue.ts';
import type { TurnHandler } from '../../src/jobs/ports.ts';
import { conversation, countAll, type Fixture, startOwnRedis, turnRole, useFixture } from './fixture.ts';

const SOON = { timeout: 60_000, interval: 20 };
/** Number of waiting jobs from which a wake gets no job. */
const CROWD = 8;

/** Adds one wake after the other, because a process looks at the queue with each job that it adds. */
async function addWakes(wakes: OpenWakeQueue, names: readonly string[]): Promise<void> {
  for (const name of names) await wakes.wake('turn', conversation(name), `wake-${name}`);
}

function namesOf(count: number, prefix = 'c'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`);
}

/** Number of scripts that Redis has run for any client. */
async function countScripts(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

function countDue(fixture: Fixture): Promise<number> {
  return fixture.connect().zcard(fixture.openRaw('turn').toKey('due:wakes'));
}

test('wakes beyond eight waiting queue jobs are stored without a job, and all are delivered once in their order', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const names = namesOf(60);
  await addWakes(wakes, names);
  await addWakes(wakes, names.slice(40)); // a repeated wake
  const due = await countDue(fixture);
  expect(due).toBeGreaterThan(40);
  expect(await fixture.openRaw('turn').getPrioritizedCount()).toBe(60 - due);
  expect(await countAll(wakes)).toBe(60);

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await expect.poll(() => seen.length, SOON).toBe(60);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(seen.toSorted()).toEqual(names);
  const [jobs, others] = [names.slice(0, 60 - due), names.slice(60 - due)];
  expect(seen.filter((name) => jobs.includes(name))).toEqual(jobs);
  expect(seen.filter((name) => others.includes(name))).toEqual(others);
});

test('workers take wakes without a queue job in the same proportion as such wakes have in all waiting work', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { dueWakes, queue } = openRunner(fixture, 5);
  const take = async (callers: number): Promise<[taken: number, left: number]> => {
    const { wakes: taken, left } = await dueWakes.take(queue, callers, { getJobs: true });
    return [taken.length, left];
  };
  await addWakes(wakes, namesOf(10));
  const redis = fixture.connect();
  const key = queue.toKey('due:wakes');
  await redis.del(key);
  const jobs = await queue.getPrioritizedCount();
  expect(await take(5)).toEqual([0, 0]);
  await redis.zadd(key, ...namesOf(jobs * 4).flatMap((name, at) => [at, `wake-${name}|_|${name}`]));

  const [taken, left] = await take(11);
  expect([8, 9]).toContain(taken); // 8.8
  expect(left).toBe(jobs * 4 - taken);
  await queue.drain();
  expect(await take(3)).toEqual([3, left - 3]);
  expect(await take(500)).toEqual([left - 3, 0]);
});

test('a single worker takes a wake without a queue job by chance, with the proportion of such wakes as probability', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { dueWakes, queue } = openRunner(fixture, 5);
  await addWakes(wakes, namesOf(5));
  const redis = fixture.connect();
  let taken = 0;
  for (let draw = 0; draw < 200; draw += 1) {
    await redis.zadd(queue.toKey('due:wakes'), ...namesOf(5).flatMap((name, at) => [at, `wake-${name}|_|${name}`]));
    taken += (await dueWakes.take(queue, 1, { getJobs: true })).wakes.length;
  }
  expect(taken).toBeGreaterThan(50);
  expect(taken).toBeLessThan(150);
});

test('no wake without a queue job is taken while the queue is paused or a dead worker’s or better-priority job waits', async () => {
  const fixture = useFixture();
  const { dueWakes, queue } = openRunner(fixture, 5);
  const redis = fixture.connect();
  await redis.zadd(queue.toKey('due:wakes'), 1, 'w|_|c1');
  const take = (callers: number) => dueWakes.take(queue, callers, { getJobs: true });
  const none = { wakes: [], left: 1 };

  await queue.pause();
  expect(await take(5)).toEqual(none);
  await queue.resume();
  await queue.add('turn', {}, { jobId: 'reclaimed' });
  expect(await take(1)).toEqual(none);
  await queue.drain();
  await queue.add('turn', {}, { jobId: 'urgent', priority: 9 });
  expect(await take(1)).toEqual(none);
  // The second caller is free.
  expect(await take(2)).toEqual({ wakes: [{ wake: 'w', conversation: conversation('c1') }], left: 0 });
  await redis.zadd(queue.toKey('due:wakes'), 1, 'w|_|c1');
  await queue.drain();
  expect(await take(1)).toEqual({ wakes: [{ wake: 'w', conversation: conversation('c1') }], left: 0 });
});

test('a queue worker reports each time that it found no job, even if it found no job before', async () => {
  const fixture = useFixture();
  const connection = openQueueConnection({ url: fixture.url, onError: () => undefined });
  const place = { name: 'turn', shard: 0, prefix: fixture.prefix, connection, concurrency: 1 } as const;
  const marker = fixture.openRaw('turn').toKey('marker');
  const redis = fixture.connect();
  const ignore = (): void => undefined;
  const worker = openQueueWorker({ ...place, deliver: () => Promise.resolve(), onError: ignore });
  onTestFinished(async () => {
    await worker.close();
    connection.disconnectAll();
  });
  let times = 0;
  worker.on('drained', () => {
    times += 1;
  });
  void worker.run();
  for (let round = 0; round < 3; round += 1) {
    const before = times;
    await redis.zadd(marker, 0, '0');
    await expect.poll(() => times, SOON).toBeGreaterThan(before);
  }
});

test('jobs with a better priority and jobs of dead workers run before wakes without a queue job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const names = namesOf(12);
  await addWakes(wakes, names);
  expect(await countDue(fixture)).toBeGreaterThan(0);
  await wakes.wake('turn', conversation('urgent'), 'wake-urgent', { priority: 1 });
  await wakes.wake('turn', conversation('late'), 'wake-late', { priority: 11 });
  // A job without a priority stands in the list `wait`, as the job of a dead worker does.
  await fixture.openRaw('turn').add('turn', { v: 1, tenant: '_', id: 'reclaimed' });

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();
  await expect.poll(() => seen.length, SOON).toBe(15);
  expect(seen.slice(0, 2)).toEqual(['reclaimed', 'urgent']);
  expect(seen.slice(2, -1).toSorted()).toEqual(names);
  expect(seen.at(-1)).toBe('late');
});

test('a wake of a compaction pass and a wake with its own priority always get a job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  for (const name of namesOf(12, 'p')) await wakes.wake('pass', conversation(name), `pass-${name}`);
  for (const name of namesOf(5, 'q')) await wakes.wake('turn', conversation(name), `own-${name}`, { priority: 20 });

  expect(await fixture.openRaw('compaction').getPrioritizedCount()).toBe(12);
  expect(await fixture.openRaw('turn').getCountsPerPriority([20])).toEqual({ 20: 5 });
});

/** A handler that holds each conversation until the gate opens. */
function holdAll(): { handler: TurnHandler; held: string[]; open(): void } {
  const gate = Promise.withResolvers<void>();
  const held: string[] = [];
  const handler: TurnHandler = async ({ id }) => {
    held.push(id);
    await gate.promise;
    return { status: 'done' };
  };
  return { handler, held, open: gate.resolve };
}

test('a worker with room takes wakes without a queue job at once, although other workers are full', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const [full, free] = [holdAll(), holdAll()];
  await addWakes(wakes, ['first']);
  await fixture.openWorkers({ turn: { handler: full.handler, concurrency: 1 } }).start();
  await expect.poll(() => full.held, SOON).toEqual(['first']);
  await addWakes(wakes, namesOf(50));
  expect(await countDue(fixture)).toBeGreaterThan(30);

  await fixture.openWorkers({ turn: { handler: free.handler, concurrency: 60 } }).start();
  await expect.poll(() => free.held.length, SOON).toBe(50);
  expect(free.held.toSorted()).toEqual(namesOf(50));
  full.open();
  free.open();
});

test('several workers with room share the wakes without a queue job, and no wake waits for a busy worker', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(60));
  const roles = [holdAll(), holdAll(), holdAll()];
  for (const { handler } of roles) await fixture.openWorkers({ turn: { handler, concurrency: 20 } }).start();

  await expect.poll(() => roles.flatMap(({ held }) => held).toSorted(), SOON).toEqual(namesOf(60));
  for (const role of roles) role.open();
});

test('a paused queue delivers no wakes without a queue job, and delivers them after it was resumed', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const seen: string[] = [];
  const paused = Promise.withResolvers<void>();
  await addWakes(wakes, namesOf(60));
  await raw.drain();
  const due = await countDue(fixture);
  const role = turnRole(async ({ id }) => {
    seen.push(id);
    if (seen.length !== 20) return;
    await raw.pause();
    paused.resolve();
  });
  await fixture.openWorkers(role).start();
  await paused.promise;
  await expect.poll(() => raw.getActiveCount(), SOON).toBe(0);
  expect(seen).toHaveLength(20);
  expect(await countAll(wakes)).toBe(due - 20);

  await raw.resume();
  await expect.poll(() => seen.toSorted(), SOON).toEqual(namesOf(60).slice(-due));
});

test('the job of a dead worker runs before the remaining wakes without a queue job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  await addWakes(wakes, namesOf(60));
  await raw.drain();
  const due = await countDue(fixture);
  const seen: string[] = [];
  const role = turnRole(async ({ id }) => {
    seen.push(id);
    if (seen.length === 20) await raw.add('turn', { v: 1, tenant: '_', id: 'reclaimed' });
  });
  await fixture.openWorkers(role).start();

  await expect.poll(() => seen.length, SOON).toBe(due + 1);
  expect(seen.indexOf('reclaimed')).toBe(20);
});

test('a worker with a job of a worse priority handles wakes without a queue job first, and again after the job', async () => {
  const calls: string[] = [];
  const note = (call: string): void => void calls.push(call);
  const handler: TurnHandler = ({ id }) => {
    note(id);
    return Promise.resolve({ status: 'done' });
  };
  const runner = { handleDueWakes: () => Promise.resolve(note('due wakes')) };
  const deliver = deliverTurns(handler, { drop: () => undefined }, runner);
  const jobOf = (id: string, priority: number) =>
    ({ data: { v: 1, tenant: '_', id }, priority, attemptsStarted: 1 }) as unknown as Job;
  for (const priority of [1, 10, 11]) await deliver(jobOf(`p${priority}`, priority), 'token');

  expect(calls).toEqual(['p1', 'due wakes', 'p10', 'due wakes', 'due wakes', 'p11', 'due wakes']);
});

test('isPending for a wake without a queue job signals an idle worker', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const redis = fixture.connect();
  const raw = fixture.openRaw('turn');
  await addWakes(wakes, namesOf(20));
  await redis.del(raw.toKey('marker'));
  expect(await wakes.isPending('turn', conversation('c019'), 'wake-c019')).toBe(true);
  expect(await redis.exists(raw.toKey('marker'))).toBe(1);
});

test('closing a worker waits until it has added the jobs for the wakes that it took', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { runner, worker, queue } = openRunner(fixture, 5);
  await addWakes(wakes, namesOf(CROWD + 5));
  await queue.drain();
  const due = await countDue(fixture);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  worker.emit('drained');
  vi.advanceTimersByTime(251);
  await runner.close();
  expect(await countDue(fixture)).toBe(Math.max(0, due - 5));
  expect(await queue.getPrioritizedCount()).toBe(Math.min(5, due));
});

test('a wake that is added again keeps its place among the wakes without a queue job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(20));
  const redis = fixture.connect();
  const key = fixture.openRaw('turn').toKey('due:wakes');
  await redis.zadd(key, 5, 'wake-c015|_|c015');
  await addWakes(wakes, ['c015']);

  expect(await redis.zscore(key, 'wake-c015|_|c015')).toBe('5');
});

test('a wake gets a job again once fewer jobs wait', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(20));
  expect(await countDue(fixture)).toBeGreaterThan(0);
  const workers = fixture.openWorkers(turnRole());
  await workers.start();
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  await workers.close();

  await addWakes(wakes, ['next']);
  expect(await countDue(fixture)).toBe(0);
  expect(await fixture.openRaw('turn').getPrioritizedCount()).toBe(1);
});

test('isPending counts a wake without a queue job while any job waits or runs, and else removes it so that the sweeper adds a job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const raw = fixture.openRaw('turn');
  const isPending = (name: string) => wakes.isPending('turn', conversation(name), `wake-${name}`);
  await addWakes(wakes, namesOf(30));
  expect(await isPending('c029')).toBe(true);
  expect(await isPending('c030')).toBe(false);
  expect(await wakes.isPending('turn', conversation('c028'), 'wake-c029')).toBe(false);

  const due = await countDue(fixture);
  await raw.drain();
  const redis = fixture.connect();
  await redis.lpush(raw.toKey('active'), 'a job'); // its worker looks for wakes when it has ended the job
  expect(await isPending('c029')).toBe(true);
  await redis.del(raw.toKey('active'));
  expect(await isPending('c029')).toBe(false);
  expect(await countDue(fixture)).toBe(due - 1);
});

test('a wake without a queue job that the worker postpones is delivered again', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(20));
  const seen: string[] = [];
  const handler: TurnHandler = ({ id }) => {
    seen.push(id);
    const isFirst = seen.indexOf(id) === seen.length - 1;
    return Promise.resolve(id === 'c015' && isFirst ? { status: 'postponed', delayMs: 5 } : { status: 'done' });
  };
  await fixture.openWorkers({ turn: { handler, concurrency: 1 } }).start();

  await expect.poll(() => seen.length, SOON).toBe(21);
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  expect(seen.toSorted()).toEqual([...namesOf(20), 'c015'].toSorted());
});

test('an error in the delivery of one wake without a queue job does not stop the others', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  const seen: string[] = [];
  const role = turnRole(({ id }) => {
    seen.push(id);
    if (id === 'c020') throw new Error('broken delivery');
  });
  await fixture.openWorkers(role).start();

  await expect.poll(() => seen.toSorted(), SOON).toEqual(namesOf(30));
  expect(fixture.errors.map(({ error }) => (error as Error).message)).toEqual(['broken delivery']);
});

test('a job of a worse priority is handled although a wake without a queue job failed before it', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { runner } = openRunner(fixture, 1);
  await addWakes(wakes, namesOf(CROWD + 13));
  expect(await countDue(fixture)).toBeGreaterThan(0);
  const seen: string[] = [];
  const handler: TurnHandler = ({ id }) => {
    seen.push(id);
    return id === 'own' ? Promise.resolve({ status: 'done' }) : Promise.reject(new Error(`broken ${id}`));
  };
  const job = { data: { v: 1, tenant: '_', id: 'own' }, priority: 11, attemptsStarted: 1, timestamp: 0 };
  await deliverTurns(handler, { drop: () => undefined }, runner)(job as unknown as Job, 'token');

  expect(seen).toContain('own');
  expect(fixture.errors.map(({ error }) => (error as Error).message)).toEqual(
    seen.filter((id) => id !== 'own').map((id) => `broken ${id}`),
  );
});

test('a closing worker takes no more wakes without a queue job, and another worker gets them', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(60));
  await fixture.openRaw('turn').drain();
  const due = namesOf(60).slice(-(await countDue(fixture)));
  const seen: string[] = [];
  let closed: Promise<unknown> | undefined;
  const closing = fixture.openWorkers(
    turnRole(({ id }) => {
      seen.push(id);
      if (seen.length === 20) closed = closing.close();
    }),
  );
  await closing.start();
  await expect.poll(() => closed, SOON).toBeDefined();
  expect(await closed).toBe('closed');
  expect(seen).toHaveLength(20);

  await fixture.openWorkers(turnRole(({ id }) => seen.push(id), 4)).start();
  await expect.poll(() => seen.toSorted(), SOON).toEqual(due);
});

/** Runner for a worker whose room never changes. Jobs that it adds stay in the queue. */
function openRunner(fixture: Fixture, concurrency: number) {
  const connection = openQueueConnection({ url: fixture.url, onError: () => undefined });
  onTestFinished(() => connection.disconnectAll());
  const queue = fixture.openRaw('turn');
  const intake = new Intake({ queue: 'turn', shard: 0, concurrency });
  const report = (error: unknown): void => void fixture.errors.push({ error, where: 'turn' });
  const dueWakes = new DueWakes(connection);
  const runner = new DueWakeRunner({ dueWakes, queue, intake, report });
  const worker = new EventEmitter();
  runner.watch(worker as unknown as Worker);
  return { runner, worker, queue, dueWakes };
}

test('a worker with room adds jobs until no wake lacks a job, even if other workers took its jobs', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { worker, queue } = openRunner(fixture, 5);
  await addWakes(wakes, namesOf(CROWD + 13));
  const due = await countDue(fixture);
  await queue.drain(); // as if other workers had taken the jobs
  worker.emit('drained');

  await expect.poll(() => queue.getPrioritizedCount(), SOON).toBe(due);
  expect(await countDue(fixture)).toBe(0);
  // BullMQ counts these jobs when they end.
  expect(await fixture.connect().exists(queue.toKey('metrics:completed'))).toBe(0);
});

test('a worker with room looks for wakes without a queue job after a job that has waited, and otherwise at intervals', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { runner, queue, dueWakes } = openRunner(fixture, 5);
  const take = vi.spyOn(dueWakes, 'take');
  const seen: string[] = [];
  const work = (waitedMs: number): Promise<void> =>
    runner.handleDueWakes({ timestamp: 1_000, processedOn: 1_000 + waitedMs }, ({ id }) => {
      seen.push(id);
      return Promise.resolve({ status: 'done' });
    });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await work(1); // the first delivery always looks
  await addWakes(wakes, namesOf(CROWD + 10));
  const due = namesOf(CROWD + 10).slice(-(await countDue(fixture)));
  await queue.drain();

  await work(1);
  expect(seen).toEqual([]);
  await work(100);
  expect(seen).toEqual(due);
  take.mockClear();
  await work(1);
  expect(take).not.toHaveBeenCalled();
  vi.advanceTimersByTime(251);
  await work(1);
  expect(take).toHaveBeenCalledOnce();
});

test('a full worker looks for wakes without a queue job after every job, and stops after half a minute', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const { runner, queue } = openRunner(fixture, 0);
  await runner.handleDueWakes({ timestamp: 1_000, processedOn: 1_001 }, () =>
    Promise.reject(new Error('no wake is due')),
  );
  await addWakes(wakes, namesOf(CROWD + 10));
  await queue.drain();
  const due = await countDue(fixture);
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let seen = 0;
  await runner.handleDueWakes({ timestamp: 1_000, processedOn: 1_001 }, () => {
    seen += 1;
    vi.advanceTimersByTime(11_000);
    return Promise.resolve({ status: 'done' });
  });
  expect(seen).toBe(3);
  expect(await countDue(fixture)).toBe(due - 3);
});

test('a wake without a queue job counts in the numbers of waiting and finished jobs, and in the longest wait', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(CROWD + 1));
  await fixture.connect().zadd(fixture.openRaw('turn').toKey('due:wakes'), Date.now() - 3_600_000, 'w|_|old');
  expect(await countDue(fixture)).toBe(1);

  const counts = await wakes.countJobs();
  expect(counts).toContainEqual({ queue: 'turn', state: 'waiting', count: 1 });
  expect(counts).toContainEqual({ queue: 'turn', state: 'prioritized', count: CROWD + 1 });
  const waits = await wakes.readShardWaits();
  expect(waits.find(({ queue }) => queue === 'turn')?.waitMs).toBeGreaterThanOrEqual(3_600_000);

  await fixture.openWorkers(turnRole()).start();
  await expect.poll(() => countAll(wakes), SOON).toBe(0);
  const hour = await wakes.readHour();
  expect(hour.find(({ queue }) => queue === 'turn')?.finished.reduce((sum, count) => sum + count)).toBe(CROWD + 2);
});

test('jobs with a worse priority than a wake do not count toward the limit above which wakes get no job', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  for (const name of namesOf(20, 'q')) await wakes.wake('turn', conversation(name), `own-${name}`, { priority: 11 });
  await addWakes(wakes, namesOf(7));
  expect(await countDue(fixture)).toBe(0);
  await addWakes(wakes, namesOf(20));
  expect(await countDue(fixture)).toBeGreaterThan(0);
});

test('wakes that are added in one pass of the event loop are sent together, and each is delivered once', async (context) => {
  const { url } = await startOwnRedis(context);
  const fixture = useFixture({ url });
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(10));
  const redis = fixture.connect();
  const before = await countScripts(redis);
  await Promise.all(namesOf(200, 'd').map((name) => wakes.wake('turn', conversation(name), `wake-${name}`)));
  expect((await countScripts(redis)) - before).toBeLessThan(20);

  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id), 10)).start();
  await expect.poll(() => seen.toSorted(), SOON).toEqual([...namesOf(10), ...namesOf(200, 'd')]);
});

test('after its connections are cut, a worker still handles all wakes that have no queue job', async (context) => {
  const { url } = await startOwnRedis(context);
  const fixture = useFixture({ url });
  const wakes = fixture.openWakes();
  const redis = fixture.connect();
  await addWakes(wakes, namesOf(60));
  const seen: string[] = [];
  const role = turnRole(async ({ id }) => {
    seen.push(id);
    if (seen.length % 20 === 0) await redis.call('CLIENT', ['KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  });
  await fixture.openWorkers(role).start();

  await expect.poll(() => new Set(seen).size, SOON).toBe(60);
});

test('an invalid entry among the wakes without a queue job is removed, and stops no wake', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  await addWakes(wakes, namesOf(30));
  await fixture.connect().zadd(fixture.openRaw('turn').toKey('due:wakes'), 1, 'no wake', 2, 'w|_|a:b', 3, '||');
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();

  await expect.poll(() => seen.length, SOON).toBe(30);
  await expect.poll(() => countDue(fixture), SOON).toBe(0);
});
