import { DelayedError, type Job } from 'bullmq';
import { NEWER_PAYLOAD_TRIES, QUEUE_TIMES } from '../jobs/names.ts';
import { isNewerPayload } from '../jobs/payloads.ts';

/**
 * Leaves a job to whoever takes it from then on.
 * @param at ms since epoch
 * @throws DelayedError, which costs the job no attempt
 */
export async function deliverAgain(job: Job<unknown>, token: string, at: number): Promise<never> {
  await job.moveToDelayed(at, token);
  throw new DelayedError();
}

/** Answers one job of a queue. What it returns is the job's value; what it throws fails the attempt. */
export type Delivery = (job: Job<unknown>, token: string) => Promise<unknown>;

export type Report = (error: unknown) => void;

/** Takes jobs of one queue and reports what is wrong with them. */
export interface JobReader<T> {
  readonly read: (data: unknown) => T;
  readonly report: Report;
}

/**
 * Reads a job's data; data that cannot be read is reported and answered with `undefined`. Such a job is completed: run
 * again it would fail again.
 *
 * While old and new workers run side by side, a job of a newer program is left to those that know it. Where none takes it,
 * because the new program was taken back, it ends as one that cannot be read: what it stands for is in Redis, and the
 * sweeper asks for it anew in this program's words.
 * @throws DelayedError, which costs the job no attempt
 */
export async function readJob<T>(
  { read, report }: JobReader<T>,
  job: Job<unknown>,
  token: string,
): Promise<T | undefined> {
  if (isNewerPayload(job.data) && job.attemptsStarted <= NEWER_PAYLOAD_TRIES) {
    return await deliverAgain(job, token, Date.now() + QUEUE_TIMES.newerDelayMs);
  }
  try {
    return read(job.data);
  } catch (error) {
    report(error);
    return undefined;
  }
}
