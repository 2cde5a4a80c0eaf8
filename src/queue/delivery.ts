import { DelayedError, type Job } from 'bullmq';
import { LOWEST_PRIORITY, NEWER_PAYLOAD_TRIES, QUEUE_TIMES } from '../jobs/names.ts';
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

/** Acknowledged of a job that was removed because it cannot be read. */
export type Drop = (job: string, error: unknown) => void;

/** Takes jobs of one queue. */
export interface JobReader<T> {
  readonly read: (data: unknown) => T;
  readonly drop: Drop;
}

/**
 * Reads a job's data. A job that cannot be read is removed and answered with `undefined`: run again it would fail again.
 *
 * While old and new workers run side by side, a job of a newer program is left to those that know it. Where none takes it,
 * because the new program was taken back, it ends as one that cannot be read: what it stands for is in Redis, and the
 * sweeper asks for it anew in this program's words.
 * @throws DelayedError, which costs the job no attempt
 */
export async function readJob<T>(
  { read, drop }: JobReader<T>,
  job: Job<unknown>,
  token: string,
): Promise<T | undefined> {
  if (isNewerPayload(job.data) && job.attemptsStarted <= NEWER_PAYLOAD_TRIES) {
    // When its delay ends BullMQ puts a job behind all others of its priority: with the lowest, behind every job we can read.
    await job.changePriority({ priority: LOWEST_PRIORITY });
    return await deliverAgain(job, token, Date.now() + newerDelay(job.attemptsStarted));
  }
  try {
    return read(job.data);
  } catch (error) {
    job.opts.removeOnComplete = true;
    drop(job.id ?? '', error);
    return undefined;
  }
}

/** 1, 2, 4 … 32 s. With a second each, 5,000 such jobs kept all others waiting for 32 s. */
function newerDelay(attempt: number): number {
  return QUEUE_TIMES.newerDelayMs * 2 ** (Math.max(1, attempt) - 1);
}
