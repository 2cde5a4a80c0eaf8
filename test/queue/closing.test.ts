import { expect, test, vi } from 'vitest';
import type { TurnHandler } from '../../src/jobs/ports.ts';
import { machineFactor } from '../setup/machine-factor.ts';
import { conversation, countAll, freeze, startOwnRedis, turnRole, useFixture } from './fixture.ts';

/** A job handler that reports its start, and ends when the test releases it. */
function holdTurn() {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const handler: TurnHandler = async ({ id }) => {
    seen.push(id);
    entered.resolve();
    await gate.promise;
    return { status: 'done' };
  };
  return { handler, seen, entered: entered.promise, release: () => gate.resolve() };
}

test('a process that closes its queue workers takes no more jobs and waits for the job in flight', async () => {
  const fixture = useFixture();
  const wakes = fixture.openWakes();
  const turn = holdTurn();
  // Concurrency 1. If the worker could run more, BullMQ might have asked Redis for the next job before the close.
  const workers = fixture.openWorkers({ turn: { handler: turn.handler, concurrency: 1 } }, { deadlineMs: 20_000 });
  await wakes.wake('turn', conversation('c1'), 'w1');
  await workers.start();
  await turn.entered;
  expect(workers.isRunning()).toBe(true);

  const closing = workers.close();
  expect(workers.isRunning()).toBe(false);
  await wakes.wake('turn', conversation('c2'), 'w2');
  turn.release();
  expect(await closing).toBe('closed');
  expect(await workers.close()).toBe('closed');
  expect(turn.seen).toEqual(['c1']);
  // w1 is completed, and w2 is still there for other workers.
  expect(await countAll(wakes)).toBe(1);
  expect(await wakes.isPending('turn', conversation('c2'), 'w2')).toBe(true);
  expect(fixture.errors).toEqual([]);
});

test('a process that closes its queue workers abandons a job that runs longer than the deadline', async () => {
  const fixture = useFixture();
  const entered = Promise.withResolvers<void>();
  const workers = fixture.openWorkers(turnRole(never), { deadlineMs: 300 });
  function never(): Promise<never> {
    entered.resolve();
    return new Promise(() => undefined);
  }
  await workers.start();
  await fixture.openWakes().wake('turn', conversation('c1'), 'w1');
  await entered.promise;

  expect(await workers.close()).toBe('deadline');
});

test('a job that a closing worker postpones is delivered to another worker, and keeps its number of attempts', async () => {
  const fixture = useFixture();
  const turn = holdTurn();
  const postponing: TurnHandler = async (woken) => {
    await turn.handler(woken);
    return { status: 'postponed', delayMs: 0 };
  };
  const workers = fixture.openWorkers({ turn: { handler: postponing, concurrency: 1 } }, { deadlineMs: 20_000 });
  await workers.start();
  await fixture.openWakes().wake('turn', conversation('c1'), 'w1');
  await turn.entered;
  const closing = workers.close();
  turn.release();
  expect(await closing).toBe('closed');

  const next = Promise.withResolvers<string>();
  await fixture.openWorkers(turnRole(({ id }) => next.resolve(id))).start();
  expect(await next.promise).toBe('c1');
  expect(fixture.errors).toEqual([]);
});

test('queue workers that were never started close at once, and a start after the close is refused', async () => {
  const fixture = useFixture();
  const workers = fixture.openWorkers(turnRole());

  expect(workers.isRunning()).toBe(false);
  expect(await workers.close()).toBe('closed');
  await expect(workers.start()).rejects.toThrow('started twice or after close');
});

test.for([
  ['killed', (pid: number): boolean => process.kill(pid, 'SIGKILL')],
  ['frozen', freeze],
] as const)('a process closes its queue workers within the deadline while Redis is %s', async ([, strike], context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  const turn = holdTurn();
  const workers = fixture.openWorkers({ turn: { handler: turn.handler, concurrency: 2 } }, { deadlineMs: 1_000 });
  await workers.start();
  await fixture.openWakes().wake('turn', conversation('c1'), 'w1');
  await turn.entered;
  strike(redis.pid);
  turn.release();

  const startedAt = performance.now();
  expect(await workers.close()).toBe('deadline');
  expect(performance.now() - startedAt).toBeLessThan(20_000 * machineFactor());
});

test('queue workers that start while Redis is down wait for Redis and then take the waiting jobs', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  const turn = holdTurn();
  await fixture.openWakes().wake('turn', conversation('c1'), 'w1');
  const thaw = freeze(redis.pid);
  const workers = fixture.openWorkers({ turn: { handler: turn.handler, concurrency: 1 } });
  const started = vi.fn<() => void>();
  const starting = workers.start().then(started);
  await expect(fixture.openWakes({ failsFast: true }).countJobs()).rejects.toMatchObject({ code: 'redis_unavailable' });
  expect(started).not.toHaveBeenCalled();

  thaw();
  await starting;
  await turn.entered;
  turn.release();
});

test('a process that closes its queue workers also ends their start if that start still waits for Redis', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  freeze(redis.pid);
  const workers = fixture.openWorkers(turnRole(), { deadlineMs: 300 });
  const starting = workers.start();

  await workers.close();
  await starting;
  expect(workers.isRunning()).toBe(false);
});
