import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { OpenWakeQueue } from '../../src/jobs/bullmq/wake-queue.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { findClosedPort } from '../local-redis/fixture.ts';
import { machineFactor } from '../setup/machine-factor.ts';
import { conversation, freeze, startOwnRedis, useFixture } from './fixture.ts';

/** A call without a time limit would wait for Redis for minutes. */
const LATE_MS = 10_000;
const SOON = { timeout: 60_000, interval: 50 };
const c1: ConversationRef = conversation('c1');

/** Measures how a call that adds a wake fails, and after how many ms. */
async function failWake(wakes: OpenWakeQueue): Promise<{ error: unknown; tookMs: number }> {
  const startedAt = performance.now();
  const error = await wakes.wake('turn', c1, 'w1').then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, tookMs: performance.now() - startedAt };
}

const UNAVAILABLE = { error: expect.objectContaining({ code: 'redis_unavailable' }) };

test('the first call of a client waits until the client is connected to Redis', async () => {
  const wakes = useFixture().openWakes({ failsFast: true });
  await wakes.wake('turn', c1, 'w1');

  expect(await wakes.isPending('turn', c1, 'w1')).toBe(true);
});

test('every call of a client fails soon if no Redis server listens', async () => {
  const fixture = useFixture({ url: `redis://127.0.0.1:${await findClosedPort()}` });
  const wakes = fixture.openWakes({ failsFast: true });
  for (const _ of [1, 2, 3]) {
    const failed = await failWake(wakes);
    expect(failed).toMatchObject(UNAVAILABLE);
    expect(failed.tookMs).toBeLessThan(LATE_MS * machineFactor());
  }

  // One outage gives one report, however often the client tries to reconnect.
  expect(fixture.errors).toMatchObject([{ where: 'connection', error: { code: 'redis_unavailable' } }]);
});

test('a call of a connected client fails soon when Redis dies', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  const wakes = fixture.openWakes({ failsFast: true });
  await wakes.wake('turn', c1, 'w0');
  process.kill(redis.pid, 'SIGKILL');
  const first = await failWake(wakes);
  await expect.poll(() => fixture.errors.length, SOON).toBe(1);
  const second = await failWake(wakes);

  for (const failed of [first, second]) {
    expect(failed).toMatchObject(UNAVAILABLE);
    expect(failed.tookMs).toBeLessThan(LATE_MS * machineFactor());
  }
});

test.for(['before', 'after'])(
  'a client’s call fails soon if Redis froze %s the client’s first call, and succeeds when Redis answers again',
  async (when, context) => {
    const redis = await startOwnRedis(context);
    const thawEarly = when === 'before' ? freeze(redis.pid) : undefined;
    const wakes = useFixture(redis).openWakes({ failsFast: true });
    if (when === 'after') await wakes.wake('turn', c1, 'w0');
    const thaw = thawEarly ?? freeze(redis.pid);

    const failed = await failWake(wakes);
    expect(failed).toMatchObject(UNAVAILABLE);
    expect(failed.tookMs).toBeLessThan(LATE_MS * machineFactor());
    thaw();
    const isBack = () =>
      wakes.wake('turn', c1, 'w2').then(
        () => wakes.isPending('turn', c1, 'w2'),
        () => false,
      );
    await expect.poll(isBack, SOON).toBe(true);
  },
);

test('while Redis is down, a worker’s call to add a wake job waits, and its reading of queue metrics fails within a second', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  const wakes = fixture.openWakes();
  await wakes.wake('turn', c1, 'w0');
  const thaw = freeze(redis.pid);
  const woken = vi.fn<() => void>();
  const waking = wakes.wake('turn', c1, 'w1').then(woken);
  await expect(wakes.countJobs()).rejects.toMatchObject({ code: 'redis_unavailable' });
  await expect(wakes.readShardWaits()).rejects.toMatchObject({ code: 'redis_unavailable' });
  expect(woken).not.toHaveBeenCalled();

  thaw();
  await waking;
  expect(await wakes.isPending('turn', c1, 'w1')).toBe(true);
});

test('a call that waits for Redis to add a wake job fails when its queue is closed', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture(redis);
  const wakes = fixture.openWakes();
  await wakes.wake('turn', c1, 'w0');
  process.kill(redis.pid, 'SIGKILL');
  await expect.poll(() => fixture.errors.length, SOON).toBe(1);
  const waking = failWake(wakes);
  await wakes.close();

  expect(await waking).toMatchObject(UNAVAILABLE);
});

test.for([true, false])(
  'a call to add a wake job throws redis_full and writes nothing if the memory of Redis is full, with failsFast %s',
  async (failsFast, context) => {
    const redis = await startOwnRedis(context, ['--maxmemory', '100kb']);
    const wakes = useFixture(redis).openWakes({ failsFast });

    await expect(wakes.wake('turn', c1, 'w1')).rejects.toMatchObject({ code: 'redis_full' });
    expect(await wakes.isPending('turn', c1, 'w1')).toBe(false);
  },
);

test('many calls during a connect to Redis cause no warning about leaked listeners', async (context) => {
  const redis = await startOwnRedis(context);
  const proxy = await FaultyProxy.listen(Number(new URL(redis.url).port));
  onTestFinished(() => proxy.close());
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const wakes = useFixture(proxy).openWakes({ failsFast: true });
  await wakes.wake('turn', c1, 'w0');
  proxy.swallow();
  proxy.cut({ isStillLossy: true });

  await expect
    .poll(async () => {
      const calls = Array.from({ length: 60 }, (_, index) => wakes.wake('turn', c1, `w${index}`));
      const tookFrom = performance.now();
      await Promise.allSettled(calls);
      return performance.now() - tookFrom;
    }, SOON)
    .toBeGreaterThan(100); // They waited, for what is not answered.
  expect(warnings).toEqual([]);
});

test('a report of many queue shards waits for a slow Redis, but reading queue metrics fails within a second', async (context) => {
  const redis = await startOwnRedis(context);
  const fixture = useFixture({ ...redis, shards: 16 });
  const wakes = fixture.openWakes({ failsFast: true });
  await wakes.wake('turn', c1, 'w0');
  const pause = new Redis(redis.url);
  onTestFinished(() => pause.disconnect());
  await pause.call('CLIENT', 'PAUSE', 2_000, 'ALL');
  const [report, waits] = await Promise.allSettled([wakes.reportQueues(), wakes.readShardWaits()]);

  expect(waits).toMatchObject({ reason: { code: 'redis_unavailable' } });
  expect(report).toMatchObject({ status: 'fulfilled', value: { length: 48 } });
});
