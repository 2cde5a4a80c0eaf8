import { expect, test } from 'vitest';
import { UlidSource } from '../../src/domain/ulid.ts';
import { createIdSource } from '../../src/jobs/id-source.ts';
import { WorkerReports } from './worker-reports.ts';

function nameAt(ms: number): string {
  return new UlidSource({ now: () => ms }, (bytes) => bytes).next();
}

/** Worker 1 starts at 0 s, and worker 2 at 100 s. Each start takes 2 s, and each worker gets its name after 1 s. */
function startTwo(): WorkerReports {
  const reports = new WorkerReports();
  for (const [worker, beganAt] of [
    [1, 0],
    [2, 100_000],
  ] as const)
    reports.add(worker, { type: 'started', at: beganAt + 2_000, beganAt, roles: ['turn'] });
  return reports;
}

test('the chaos test counts the time from a kill to its notice by the worker that the notice names, whatever its lifetime', () => {
  const reports = startTwo();
  reports.noteDeath(1, 50_000);
  reports.noteDeath(2, 150_000);
  reports.add(3, { type: 'worker_lost', at: 156_000, name: nameAt(101_000), roles: ['turn'] });
  expect(reports.notices).toMatchObject({ count: 1, max: 6_000 });
  reports.add(3, { type: 'worker_lost', at: 157_000, name: nameAt(1_000), roles: ['turn'] });
  expect(reports.notices).toMatchObject({ count: 2, max: 107_000 });
  expect(reports.mistakenNotices).toBe(0);
});

test('the chaos test counts the notice of a worker before its kill as a mistake, and as no notice of the kill', () => {
  const reports = startTwo();
  reports.add(3, { type: 'worker_lost', at: 120_000, name: nameAt(101_000), roles: ['turn'] });
  reports.noteDeath(2, 150_000);
  expect(reports.notices.count).toBe(0);
  expect(reports.mistakenNotices).toBe(1);
  reports.add(3, { type: 'worker_lost', at: 151_000, name: nameAt(101_000), roles: ['turn'] });
  expect(reports.notices).toMatchObject({ count: 1, max: 1_000 });
});

test('the chaos test ignores a notice if the named worker never reported its start', () => {
  const reports = startTwo();
  reports.add(3, { type: 'worker_lost', at: 120_000, name: nameAt(60_000), roles: ['turn'] });
  reports.add(3, { type: 'worker_lost', at: 120_000, name: createIdSource().next(), roles: ['compaction'] });
  expect(reports).toMatchObject({ mistakenNotices: 0, notices: { count: 0 } });
});
