import { expect, test } from 'vitest';
import { scriptTime } from '../../src/memory-store/script-time.ts';

test('the time stands still within an operation and moves on afterwards', async () => {
  let ms = 0;
  const now = scriptTime(() => (ms += 1));
  expect([now(), now(), now()]).toEqual([1, 1, 1]);
  await Promise.resolve();
  expect([now(), now()]).toEqual([2, 2]);
});
