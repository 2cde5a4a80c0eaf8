import { expect, test } from 'vitest';
import { examineQueues } from '../../src/host/health/database-checks.ts';
import { examineModels, examineNode } from '../../src/host/health/environment-checks.ts';
import type { QueueReport } from '../../src/jobs/bullmq/queue-reports.ts';

test('the doctor rejects an outdated Node and names the required version', () => {
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
  ['no job waits', {}, 'ok', 'ok'],
  ['a job waits for 0.9 s', { waitMs: 900 }, 'ok', 'ok'],
  ['a job waits longer than the limit of 60 s', { waitMs: 61_000 }, 'warning', 'ok'],
  ['the queue is paused', { isPaused: true, waitMs: 61_000 }, 'wrong', 'ok'],
  ['no worker is connected', { workers: 0 }, 'ok', 'warning'],
  ['no worker is connected and a job waits', { workers: 0, waitMs: 900 }, 'ok', 'wrong'],
  ['no worker is connected and a job has just been added', { workers: 0, waitMs: 0 }, 'ok', 'wrong'],
  ['Redis does not list its clients', { workers: undefined, waitMs: 900 }, 'ok', 'ok'],
])(
  'the doctor reports the worse state of two shards as the state of their queue if in one of them %s',
  (_, of, intake, workers) => {
    const findings = examineQueues([report({}), report({ shard: 1, ...of })], 60_000);
    expect(findings.map(({ name, state }) => [name, state])).toEqual([
      ['queue turn', intake],
      ['turn workers', workers],
    ]);
  },
);

test('the doctor warns of a model that is retired within 60 days, and fails for a retired model', () => {
  const now = Date.parse('2026-11-26');
  expect(examineModels([{ id: 'new' }], now)).toMatchObject([{ state: 'ok' }]);
  const models = [
    { id: 'soon', retiresOn: '2026-12-11' },
    { id: 'gone', retiresOn: '2026-11-01' },
  ];
  expect(examineModels(models, now)).toMatchObject([
    { name: 'models', state: 'warning', what: expect.stringContaining('soon') },
    { name: 'models', state: 'wrong', what: expect.stringContaining('gone was retired') },
  ]);
  expect(examineModels([], now)).toEqual([]);
});
