import { expect, test } from 'vitest';
import { WaitHistory } from '../../src/host/health/wait-history.ts';

const MINUTE_MS = 60_000;
const NOW = 1_000 * MINUTE_MS;

test('the wait history keeps the longest wait of each minute, and marks minutes without a report', () => {
  const history = new WaitHistory();
  history.note(NOW - 2 * MINUTE_MS, 0);
  history.note(NOW + 1, 300);
  history.note(NOW + 2, 200);
  expect(history.list(NOW + 3).slice(-4)).toEqual([null, 0, null, 300]);
  expect(history.list(NOW)).toHaveLength(60);
});

test('the wait history forgets minutes older than an hour', () => {
  const history = new WaitHistory();
  history.note(NOW - 60 * MINUTE_MS, 500);
  history.note(NOW - 59 * MINUTE_MS, 400);
  history.note(NOW, 100);
  expect(history.list(NOW).filter((wait) => wait !== null)).toEqual([400, 100]);
  expect(history.list(NOW - MINUTE_MS)[0]).toBeNull();
});
