import { assert, integer, nat, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { shareOut, totalConcurrency } from '../../src/jobs/bullmq/queue-workers.ts';
import { conversation, turnRole, useFixture } from './fixture.ts';

test('a worker divides its concurrency evenly among the queue shards, with at least one job per shard', () => {
  const counts = record({
    concurrency: integer({ min: 1, max: 1_000 }),
    shards: integer({ min: 1, max: 64 }),
  });
  assert(
    property(counts, nat(), ({ concurrency, shards }, any) => {
      const shares = shareOut(concurrency, shards, any % shards);
      expect(shares).toHaveLength(shards);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(totalConcurrency(concurrency, shards));
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    }),
  );
});

test('processes that each start with another queue shard give all shards the same total concurrency', () => {
  const shares = [0, 1, 2, 3].map((first) => shareOut(6, 4, first));
  expect(shares).toContainEqual([2, 2, 1, 1]);
  const sums = [0, 1, 2, 3].map((shard) => shares.reduce((sum, share) => sum + (share[shard] ?? 0), 0));
  expect(sums).toEqual([6, 6, 6, 6]);
});

test.each([
  [6, 6],
  [2, 4],
])('with a concurrency of %i and four queue shards, a worker runs %i jobs at a time', async (concurrency, most) => {
  const fixture = useFixture({ shards: 4 });
  const wakes = fixture.openWakes();
  const gate = Promise.withResolvers<void>();
  const taken: string[] = [];
  for (let at = 0; at < 60; at += 1) await wakes.wake('turn', conversation(`c${at}`), `w${at}`);
  const workers = fixture.openWorkers(
    turnRole(async ({ id }) => {
      taken.push(id);
      await gate.promise;
    }, concurrency),
  );
  await workers.start();

  const areAllBusy = (): boolean => workers.intakes.every(({ couldTakeMore }) => !couldTakeMore);
  await expect.poll(areAllBusy, { timeout: 60_000 }).toBe(true);
  expect(taken).toHaveLength(most);
  gate.resolve();
});
