import { expect, test } from 'vitest';
import { PAYLOAD_VERSION } from '../../src/jobs/job.ts';
import { DEFAULT_PRIORITY } from '../../src/jobs/queues.ts';
import { conversation, turnRole, useFixture } from './fixture.ts';

const NEWER = { v: PAYLOAD_VERSION + 1, who: ['_', 'c1'] };
const OPTIONS = { priority: DEFAULT_PRIORITY, removeOnComplete: true };

test('a worker takes readable jobs at once while 5,000 jobs of a newer release are delayed and retried', async () => {
  const fixture = useFixture();
  const queue = fixture.openRaw('turn');
  const redis = fixture.connect();
  const ids = Array.from({ length: 5_000 }, (_, at) => `w-newer-${at}`);
  await queue.addBulk(ids.map((jobId) => ({ name: 'turn', data: NEWER, opts: { ...OPTIONS, jobId } })));
  const keys = ids.map((id) => queue.toKey(id));
  /** Total number of deliveries of all jobs of the newer release. */
  const countDeliveries = async (): Promise<number> => Number(await redis.call('eval', [SUM, keys.length, ...keys]));
  /** For each readable job, the number of deliveries of newer jobs before it. */
  const served = new Map<string, number>();
  const wakes = fixture.openWakes();
  await wakes.wake('turn', conversation('first'), 'w-first');
  await fixture.openWorkers(turnRole(async ({ id }) => served.set(id, await countDeliveries()), 4)).start();
  await expect.poll(() => served.get('first')).toBeDefined();

  // Waits until each of the newer jobs was retried once.
  const ahead: number[] = [];
  let before = await countDeliveries();
  for (let number = 0; before < 2 * ids.length; number += 1) {
    await wakes.wake('turn', conversation(`c${number}`), `w-${number}`);
    await expect.poll(() => served.get(`c${number}`), { interval: 1 }).toBeDefined();
    ahead.push((served.get(`c${number}`) ?? 0) - before);
    before = await countDeliveries();
  }
  // The job of the last readable wake may still be active.
  await expect.poll(() => queue.getJobCountByTypes('delayed', 'prioritized', 'active')).toBe(ids.length);
  // Some newer jobs are delivered between the count and the wake, and some were in flight. If all jobs had the same
  // priority, it would be thousands.
  const few = ids.length / 10;
  expect(Math.max(...ahead)).toBeLessThan(few);
  // A worker recognizes a newer job only at its first delivery, so each was delivered once before the first readable
  // job.
  expect(served.get('first')).toBeLessThan(ids.length + few);
  expect([fixture.errors, fixture.drops]).toEqual([[], []]);
});

const SUM = `
local sum = 0
for _, key in ipairs(KEYS) do sum = sum + tonumber(redis.call('HGET', key, 'ats') or 0) end
return sum`;
