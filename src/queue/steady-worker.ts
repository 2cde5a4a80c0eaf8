import { type Job, type JobJson, Worker, type WorkerOptions } from 'bullmq';
import { TurnfoldError } from '../domain/errors.ts';
import type { DropListener } from './delivery.ts';
import type { QueueConnection } from './queue-connection.ts';

const NO_JSON = 'null';

type Processor = (job: Job<unknown>, token?: string) => Promise<unknown>;

/**
 * A worker that one job does not stop. BullMQ parses a job where it takes it: what throws there keeps the whole worker from
 * taking any for 15 s, and the job comes back with every stall.
 */
export class SteadyWorker extends Worker<unknown> {
  readonly #connection: QueueConnection;
  readonly #drop: DropListener;

  constructor(
    name: string,
    process: Processor,
    options: WorkerOptions & { connection: QueueConnection },
    drop: DropListener,
  ) {
    super(name, process, options);
    this.#connection = options.connection;
    this.#drop = drop;
  }

  /** A job whose data is not JSON is delivered without data: its delivery removes it. */
  protected override createJob(json: JobJson, jobId: string): Job<unknown> {
    return super.createJob(isJson(json.data) ? json : { ...json, data: NO_JSON }, jobId);
  }

  /** A job of which anything else is not JSON is removed here, and the worker goes on. */
  protected override async moveToActive(token: string, name?: string): Promise<Job<unknown>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      await this.#removeTaken(token);
      return await this.nextJobFromJobData();
    }
  }

  /** The error does not name the job, but its lock holds the token. */
  async #removeTaken(token: string): Promise<void> {
    const active = await this.#connection.lrange(this.toKey('active'), 0, -1);
    for (const jobId of active) {
      const lock = `${this.toKey(jobId)}:lock`;
      if ((await this.#connection.get(lock)) !== token) continue;
      await this.#connection.unlink(lock);
      await this.backend.remove(jobId, false);
      this.#drop(jobId, new TurnfoldError('invalid_input', 'job: its record is not JSON', { field: 'job' }));
    }
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
