import { expect, test } from 'vitest';
import { TickBatch } from '../../src/jobs/bullmq/due-wakes.ts';

test('commands batched in one pass of the event loop run together, and each gets its own reply', async () => {
  const runs: (readonly number[])[] = [];
  const batch = new TickBatch((items: readonly number[]) => {
    runs.push(items);
    return Promise.resolve(items.map((item) => item * 10));
  });

  expect(await Promise.all([1, 2, 3].map((item) => batch.add(item)))).toEqual([10, 20, 30]);
  expect(await batch.add(4)).toBe(40);
  expect(runs).toEqual([[1, 2, 3], [4]]);
});

test('a batched command without a reply gets undefined', async () => {
  const batch = new TickBatch<number, string>(() => Promise.resolve(['first']));
  expect(await Promise.all([batch.add(1), batch.add(2)])).toEqual(['first', undefined]);
});

test('an error of one batch fails each of its commands, and no later command', async () => {
  let isBroken = true;
  const batch = new TickBatch<number, number>((items) => {
    if (isBroken) throw new Error('refused');
    return Promise.resolve(items);
  });
  const failed = await Promise.allSettled([batch.add(1), batch.add(2)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isBroken = false;
  expect(await batch.add(3)).toBe(3);
});
