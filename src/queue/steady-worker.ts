import { type Job, type JobJson, Worker } from 'bullmq';

/** What BullMQ parses of a job as it hands it out. */
const PARSED = ['data', 'opts', 'progress', 'parent'] as const;
const NO_JSON = 'null';

/**
 * A worker that one job does not stop. BullMQ parses a job where it takes it: what throws there keeps the whole worker from
 * taking any for 15 s, and the job comes back with every stall.
 */
export class SteadyWorker extends Worker<unknown> {
  /** A job whose data is not JSON is delivered without data: its delivery removes it. */
  protected override createJob(json: JobJson, jobId: string): Job<unknown> {
    return super.createJob(isJson(json.data) ? json : { ...json, data: NO_JSON }, jobId);
  }

  /** Where anything else of the job is not JSON the worker goes on; the job is removed once it has stalled. */
  protected override async moveToActive(token: string, name?: string): Promise<Job<unknown>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return await this.nextJobFromJobData();
    }
  }

  /** Removes a job that waits again, if it cannot be parsed. @returns why, where it was removed */
  async removeUnreadable(jobId: string): Promise<Error | undefined> {
    const client = await this.client;
    const values = await client.hmget(this.toKey(jobId), ...PARSED);
    const field = PARSED.find((_, at) => !isJson(values[at] ?? NO_JSON));
    if (field === undefined) return undefined;
    const removed = await this.backend.remove(jobId, false);
    return removed === 1 ? new Error(`job.${field} is not JSON`) : undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text || NO_JSON);
    return true;
  } catch {
    return false;
  }
}
