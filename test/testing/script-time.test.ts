import { expect, test } from 'vitest';
import { scriptTime } from '../../src/memory-store/script-time.ts';

test('the clock of the memory store does not advance within an operation, and does afterwards', async () => {
  let ms = 0;
  const now = scriptTime(() => (ms += 1));
  expect([now(), now(), now()]).toEqual([1, 1, 1]);
  await Promise.resolve();
  expect([now(), now()]).toEqual([2, 2]);
});
