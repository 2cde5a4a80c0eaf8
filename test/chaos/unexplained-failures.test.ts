import { expect, test } from 'vitest';
import type { LogEntry } from '../../src/domain/message.ts';
import type { TurnFailure } from '../../src/domain/turn.ts';
import { findUnexplained, UNEXPLAINED } from './unexplained-failures.ts';
import { type WorkerReport, WorkerReports } from './worker-reports.ts';

const PARTS = { fixed: 60, pinned: 20, usable: 2_800, upperBoundFactor: 1.1 };

function find(failure: TurnFailure, { tokens = 100, reports = new WorkerReports() } = {}) {
  const message = { role: 'user' as const, content: '' };
  const entry: LogEntry = { seq: 1, turn: 't1', at: 1, tokens, bytes: 1, total: { tokens, bytes: 1 }, message };
  const turns = new Map([['t1', { failure: JSON.stringify(failure) }]]);
  return findUnexplained([{ id: 'c1', log: [entry], turns }], reports);
}

/** Three workers claim the turn one after the other. The second and the third are killed. */
function claimThrice(firstEnd?: Pick<WorkerReport, 'type' | 'why'>): WorkerReports {
  const reports = new WorkerReports();
  const key = 'c1/t1';
  for (const worker of [1, 2, 3]) {
    reports.add(worker, { type: 'turn_claimed', at: worker, key });
    if (worker > 1) reports.noteDeath(worker, worker);
    else if (firstEnd !== undefined) reports.add(worker, { ...firstEnd, at: worker, key });
  }
  return reports;
}

test.each<readonly [end: string, report: Pick<WorkerReport, 'type' | 'why'> | undefined, findings: number]>([
  ['an unexpected error', { type: 'worker_failed' }, 1],
  ['a suspension, and a claim may be unreported', { type: 'turn_suspended' }, 0],
  ['a lost lease', { type: 'lease_lost', why: 'fenced' }, 0],
  ['nothing that was reported or injected', undefined, 1],
])(
  'the chaos test reports a turn that failed as poison, unless injected faults ended all three attempts: the first ended by %s',
  (_, report, findings) => {
    const found = find({ code: 'poison', message: '' }, { reports: claimThrice(report) });
    expect(found.map(({ rule }) => rule)).toEqual(Array.from({ length: findings }, () => UNEXPLAINED));
  },
);

test('the chaos test does not count a claim as an attempt if the worker gave the turn back', () => {
  const reports = claimThrice({ type: 'lease_lost', why: 'fenced' });
  reports.add(4, { type: 'turn_claimed', at: 4, key: 'c1/t1' });
  reports.add(4, { type: 'lease_returned', at: 4, key: 'c1/t1' });
  expect(find({ code: 'poison', message: '' }, { reports })).toEqual([]);
  reports.add(4, { type: 'turn_claimed', at: 5, key: 'c1/t1' });
  expect(find({ code: 'poison', message: '' }, { reports })).toHaveLength(1);
  reports.noteDeath(4, 6);
  expect(find({ code: 'poison', message: '' }, { reports })).toEqual([]);
});

test('the chaos test does not excuse an unexpected error by a later death of the worker', () => {
  const reports = new WorkerReports();
  reports.add(1, { type: 'turn_claimed', at: 1, key: 'c1/t1' });
  reports.add(1, { type: 'worker_failed', at: 2, key: 'c1/t1' });
  reports.noteDeath(1, 3);
  expect(find({ code: 'poison', message: '' }, { reports })).toHaveLength(1);
});

test('the chaos test does not blame a fault for the end of a claim if the fault came after the next claim', () => {
  const reports = new WorkerReports();
  for (const worker of [1, 2]) reports.add(worker, { type: 'turn_claimed', at: worker, key: 'c1/t1' });
  reports.add(2, { type: 'lease_returned', at: 3, key: 'c1/t1' });
  reports.noteFault(4, 5);
  expect(find({ code: 'poison', message: '' }, { reports })).toHaveLength(1);
});

test('the chaos test measures no recovery time for turns that a killed worker had already given back', () => {
  const reports = new WorkerReports();
  reports.add(1, { type: 'turn_claimed', at: 1, key: 'c1/t1' });
  reports.add(1, { type: 'lease_returned', at: 2, key: 'c1/t1' });
  reports.noteDeath(1, 3);
  reports.add(2, { type: 'turn_claimed', at: 4, key: 'c1/t1' });
  expect(reports.recoveries.count).toBe(0);
});

test('the chaos test treats the older of two claims of one worker as ended when the worker reports a lost lease', () => {
  const reports = claimThrice();
  reports.add(1, { type: 'turn_claimed', at: 4, key: 'c1/t1' });
  reports.add(1, { type: 'lease_lost', at: 5, key: 'c1/t1', why: 'fenced' });
  reports.noteDeath(1, 6);
  expect(reports.describeClaims('c1/t1')).toBe('worker 1 lost, worker 2 killed, worker 3 killed, worker 1 killed');
});

test('the chaos test accepts an outage as the end of a claim, because no worker reports an outage', () => {
  const reports = claimThrice();
  reports.noteFault(3, 4);
  expect(find({ code: 'poison', message: '' }, { reports })).toHaveLength(1);
  reports.noteFault(0, 1);
  expect(find({ code: 'poison', message: '' }, { reports })).toEqual([]);
});

test.each([
  ['the protected messages fit the window', { open: 400, floor: 0 }, 100, 1],
  ['the failure has no figures', {}, 100, 1],
  ['the log contradicts the figures', { open: 3_000, floor: 0 }, 100, 1],
  ['the log confirms the figures', { open: 3_000, floor: 0 }, 2_800, 0],
])(
  'the chaos test reports a budget_infeasible turn unless its token figures prove the overflow: %s',
  (_, details, tokens, findings) => {
    const failure: TurnFailure = { code: 'budget_infeasible', message: '', details: { ...PARTS, ...details } };
    expect(find(failure, { tokens })).toHaveLength(findings);
  },
);

test('the chaos test accepts a failed turn whose provider was made to fail', () => {
  expect(find({ code: 'model_failed', message: '' })).toEqual([]);
});
