import type { Job } from 'bullmq';

/** Answers one job of a queue. What it returns is the job's value; what it throws fails the attempt. */
export type Delivery = (job: Job<unknown>, token: string) => Promise<unknown>;

export type Report = (error: unknown) => void;

/**
 * Reads a job's data; data that cannot be read is reported and answered with `undefined`. Such a job is completed: run
 * again it would fail again.
 */
export function readOrReport<T>(read: (data: unknown) => T, job: Job<unknown>, report: Report): T | undefined {
  try {
    return read(job.data);
  } catch (error) {
    report(error);
    return undefined;
  }
}
