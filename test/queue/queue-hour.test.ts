import { expect, test } from 'vitest';
import { countMinutes } from '../../src/jobs/bullmq/queue-reports.ts';

const MINUTE = 60_000;
/** Minute 1,000 since the epoch, and 10 s. */
const LAST_JOB = 1_000 * MINUTE + 10_000;
const meta = { count: 107, prevTS: LAST_JOB, prevCount: 100 };

test('the report of a queue’s last hour counts the minute of the last job, although BullMQ has not written it yet', () => {
  const minutes = countMinutes({ meta, data: [3, 0, 5] }, LAST_JOB + 20_000);
  expect(minutes).toHaveLength(60);
  expect(minutes.slice(-5)).toEqual([0, 5, 0, 3, 7]);
});

test('the report of a queue’s last hour shows minutes since the last job as empty, and drops older minutes', () => {
  expect(countMinutes({ meta, data: [3, 0, 5] }, LAST_JOB + 2 * MINUTE).slice(-5)).toEqual([0, 3, 7, 0, 0]);
  expect(countMinutes({ meta, data: [3] }, LAST_JOB + 59 * MINUTE).slice(0, 2)).toEqual([7, 0]);
  expect(countMinutes({ meta, data: [3] }, LAST_JOB + 60 * MINUTE)).toEqual(Array.from({ length: 60 }, () => 0));
});

test('the report of a queue that never ran a job shows an empty hour', () => {
  const empty = countMinutes({ meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [] }, LAST_JOB);
  expect(empty.every((count) => count === 0)).toBe(true);
});
