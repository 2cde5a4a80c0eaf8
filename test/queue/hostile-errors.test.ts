import { expect, test } from 'vitest';
import type { PassHandler } from '../../src/jobs/ports.ts';
import { HOSTILE_THROWN } from '../fakes/hostile-values.ts';
import { conversation, useFixture } from './fixture.ts';

const SOON = { timeout: 30_000, interval: 20 };

test('a job handler that throws any value fails its attempt, and the next jobs in the queue are delivered', async () => {
  const fixture = useFixture();
  const seen: string[] = [];
  const handler: PassHandler = async ({ conversation: { id } }) => {
    seen.push(id);
    const thrown = HOSTILE_THROWN[Number(id.slice(1))];
    if (thrown === undefined) return { status: 'done' };
    throw thrown[1]();
  };
  await fixture.openWorkers({ compaction: { handler, concurrency: 1 } }).start();
  const wakes = fixture.openWakes();
  const ids = HOSTILE_THROWN.map((_, index) => `c${index}`);
  for (const id of [...ids, 'healthy']) await wakes.wake('pass', conversation(id), `w-${id}`);
  await expect.poll(() => seen, SOON).toContain('healthy');
  await expect.poll(() => fixture.errors.length, SOON).toBeGreaterThanOrEqual(ids.length);
  const raw = fixture.openRaw('compaction');
  await expect.poll(() => raw.getActiveCount(), SOON).toBe(0);
  for (const { failedReason } of await raw.getJobs(['failed', 'delayed', 'prioritized', 'waiting'])) {
    expect((failedReason ?? '').length).toBeLessThan(40_000);
  }
});
