import { expect, test } from 'vitest';
import { examineInbox } from '../../src/host/health/inbox-check.ts';
import type { InboxReport } from '../../src/jobs/bullmq/queue-reports.ts';

const quiet: InboxReport = {
  waiting: 0,
  waitMs: undefined,
  failed: 0,
  lastCode: undefined,
  isPaused: false,
  workers: 1,
};

test.each<[string, Partial<InboxReport>, string, string]>([
  ['no job waits', {}, 'ok', 'ok'],
  ['a job waits shortly', { waiting: 1, waitMs: 900 }, 'ok', 'ok'],
  ['a job waits longer than the limit', { waiting: 1, waitMs: 61_000 }, 'warning', 'ok'],
  ['no worker takes jobs', { workers: 0 }, 'warning', 'ok'],
  ['a job waits and no worker takes it', { workers: 0, waiting: 1, waitMs: 1 }, 'wrong', 'ok'],
  ['the queue is paused', { isPaused: true }, 'wrong', 'ok'],
  ['Redis does not list its clients', { workers: undefined, waiting: 1, waitMs: 1 }, 'ok', 'ok'],
  ['jobs failed', { failed: 2, lastCode: 'invalid_input' }, 'ok', 'warning'],
])('the doctor reports the state of the inbox and of its failed jobs if %s', (_, of, intake, failures) => {
  const findings = examineInbox({ ...quiet, ...of }, { isOn: true, stuckMs: 60_000 });
  expect(findings.map(({ name, state }) => [name, state])).toEqual([
    ['inbox', intake],
    ['failed inbox jobs', failures],
  ]);
});

test('the doctor asks for a worker of a switched-off inbox only if a producer uses the inbox', () => {
  const off = { isOn: false, stuckMs: 60_000 };
  expect(examineInbox({ ...quiet, workers: 0 }, off)).toMatchObject([{ state: 'ok' }]);
  expect(examineInbox({ ...quiet, workers: 0, waiting: 3, waitMs: 1 }, off)[0]).toMatchObject({
    state: 'wrong',
    what: expect.stringContaining('3 jobs wait'),
    remedy: expect.stringContaining('TURNFOLD_INBOX=true'),
  });
});
