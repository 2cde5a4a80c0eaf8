import { expect, test } from 'vitest';
import { examineQueues } from '../../src/health/database-checks.ts';
import { examineNode } from '../../src/health/environment-checks.ts';
import type { QueueReport } from '../../src/queue/queue-reports.ts';

test('an outdated Node is wrong, and the required version is named', () => {
  expect(examineNode(process.version.slice(1))).toMatchObject({ state: 'ok' });
  expect(examineNode('22.21.9')).toMatchObject({ state: 'wrong', remedy: expect.stringContaining('22.22.0') });
});

const report = (of: Partial<QueueReport>): QueueReport => ({
  queue: 'turn',
  shard: 0,
  waitMs: undefined,
  isPaused: false,
  workers: 1,
  ...of,
});

test.each<[string, Partial<QueueReport>, string, string]>([
  ['nothing waits', {}, 'ok', 'ok'],
  ['what waits is on its way', { waitMs: 900 }, 'ok', 'ok'],
  ['it waits too long', { waitMs: 61_000 }, 'warning', 'ok'],
  ['it is paused', { isPaused: true, waitMs: 61_000 }, 'wrong', 'ok'],
  ['nobody is there', { workers: 0 }, 'ok', 'warning'],
  ['nobody is there, and work waits', { workers: 0, waitMs: 900 }, 'ok', 'wrong'],
  ['nobody is there, and work waits since now', { workers: 0, waitMs: 0 }, 'ok', 'wrong'],
  ['nobody may say who is there', { workers: undefined, waitMs: 900 }, 'ok', 'ok'],
])('a queue reports the worse of two shards: %s', (_, of, intake, workers) => {
  const findings = examineQueues([report({}), report({ shard: 1, ...of })], 60_000);
  expect(findings.map(({ name, state }) => [name, state])).toEqual([
    ['queue turn', intake],
    ['turn workers', workers],
  ]);
});
