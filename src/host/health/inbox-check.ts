import type { InboxReport } from '../../jobs/bullmq/queue-reports.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';

interface InboxTerms {
  /** `TURNFOLD_INBOX` in the environment in which `doctor` runs. */
  readonly isOn: boolean;
  readonly stuckMs: number;
}

export function examineInbox(report: InboxReport, { isOn, stuckMs }: InboxTerms): Finding[] {
  const { waiting, workers, failed, lastCode } = report;
  if (!isOn && waiting === 0 && failed === 0 && (workers ?? 0) === 0)
    return [findOk('inbox', 'off, and it has no job')];
  const code = lastCode === undefined ? '' : `, the last one with ${lastCode}`;
  return [
    examineIntake(report, stuckMs),
    failed === 0
      ? findOk('failed inbox jobs', 'none')
      : findWarning(
          'failed inbox jobs',
          `${failed} are kept${code}`,
          'Correct their producers. The failedReason of each job, and the log of the workers, name the wrong field.',
        ),
  ];
}

function examineIntake({ waiting, waitMs = 0, workers, isPaused }: InboxReport, stuckMs: number): Finding {
  const name = 'inbox';
  const jobs = `${waiting} jobs wait, the oldest for ${Math.round(waitMs / 1_000)} s`;
  if (isPaused) return findWrong(name, 'paused: workers take no jobs from it', 'Resume the BullMQ queue inbox.');
  if (workers === 0) {
    const remedy = 'Start a worker of the role turn with TURNFOLD_INBOX=true.';
    return waiting === 0
      ? findWarning(name, 'no worker takes its jobs', remedy)
      : findWrong(name, `${jobs}, but no worker takes them`, remedy);
  }
  if (waitMs > stuckMs) return findWarning(name, jobs, 'Start more workers of the role turn, or read their logs.');
  return findOk(name, waiting === 0 ? 'no job waits' : jobs);
}
