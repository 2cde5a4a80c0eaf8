import { type Job, type JobJson, Worker, type WorkerOptions } from 'bullmq';
import { TurnfoldError } from '../domain/errors.ts';
import { describeThrown, isError, readSafely } from '../domain/thrown.ts';
import { QUEUE_TIMES, type QueueName, queuePrefix } from '../jobs/queues.ts';
import type { Delivery, DropListener } from './delivery.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { reportErrors } from './queue-set.ts';

export interface QueueWorkerOptions {
  readonly name: QueueName;
  readonly shard: number;
  readonly namespace: string | undefined;
  readonly connection: QueueConnection;
  /** Jobs at a time. */
  readonly concurrency: number;
  readonly deliver: Delivery;
  readonly onError: QueueErrorListener;
  readonly onDrop: DropListener;
  /**
   * Called when the lock of a job had lapsed and the job waits again: its worker died, froze or lost Redis. BullMQ notifies
   * one worker of the queue.
   */
  readonly onReclaim?: (queue: QueueName) => void;
}

/** BullMQ fails a job after this many crashes. The store has its own limit for crashes, so this one is out of reach. */
const MAX_STALLED_COUNT = 1_000_000_000;

const MAX_ERROR_CHARACTERS = 32_000;

/** Creates a worker for one shard of one queue. `run` starts it. */
export function openQueueWorker(options: QueueWorkerOptions): Worker<unknown> {
  const { name, deliver } = options;
  const settings = {
    autorun: false,
    connection: options.connection,
    prefix: queuePrefix(options.shard, options.namespace),
    concurrency: options.concurrency,
    lockDuration: QUEUE_TIMES.lockMs,
    stalledInterval: QUEUE_TIMES.stalledCheckMs,
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const worker = new SteadyWorker(
    name,
    // A third parameter would make BullMQ pass a signal that its other parts may abort.
    (job, token) => deliverSafely(deliver, job, token ?? ''),
    settings,
    options.onDrop,
  );
  const report = reportErrors(name, options.onError);
  worker.on('error', report);
  worker.on('failed', (_job, error) => report(error));
  worker.on('stalled', () => options.onReclaim?.(name));
  return worker;
}

/** BullMQ reads message and stack of a thrown value and stores the message with the job, so it gets a plain error. */
async function deliverSafely(deliver: Delivery, job: Parameters<Delivery>[0], token: string): Promise<unknown> {
  try {
    return await deliver(job, token);
  } catch (error) {
    if (isPlain(error)) throw error;
    const { name, message } = describeThrown(error);
    throw Object.assign(new Error(message), { name });
  }
}

/** True if the texts of an error are readable and small enough to be stored with a job. */
function isPlain(error: unknown): error is Error {
  const [message, stack] = [readSafely(error, 'message'), readSafely(error, 'stack')];
  return isError(error) && isShort(message) && isShort(stack);
}

function isShort(text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_ERROR_CHARACTERS;
}

const JSON_NULL = 'null';

type Processor = (job: Job<unknown>, token?: string) => Promise<unknown>;

/**
 * A worker that survives malformed jobs. BullMQ parses a job when it takes the job. A parse error stops the whole worker for
 * 15 s, and the job comes back with every stall.
 */
class SteadyWorker extends Worker<unknown> {
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

  /** A job whose data is not JSON is delivered without data. Its delivery drops the job. */
  protected override createJob(json: JobJson, jobId: string): Job<unknown> {
    return super.createJob(isJson(json.data) ? json : { ...json, data: JSON_NULL }, jobId);
  }

  /** Removes a job with another field that is not JSON, and takes the next job. */
  protected override async moveToActive(token: string, name?: string): Promise<Job<unknown>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      await this.#removeTaken(token);
      return await this.nextJobFromJobData();
    }
  }

  /** The error does not name the job, but the job's lock contains the token. */
  async #removeTaken(token: string): Promise<void> {
    const active = await this.#connection.lrange(this.toKey('active'), 0, -1);
    for (const jobId of active) {
      const lock = `${this.toKey(jobId)}:lock`;
      if ((await this.#connection.get(lock)) !== token) continue;
      await this.#connection.unlink(lock);
      await this.backend.remove(jobId, false);
      this.#drop(jobId, new TurnfoldError('invalid_input', 'job: the record of the job is not JSON', { field: 'job' }));
    }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text || JSON_NULL);
    return true;
  } catch {
    return false;
  }
}

export interface IntakeOptions {
  readonly queue: QueueName;
  readonly shard: number;
  /** Jobs at a time. */
  readonly concurrency: number;
}

/** Counts the jobs that one worker takes. A worker with free places that takes nothing while jobs wait is stuck. */
export class Intake {
  readonly queue: QueueName;
  readonly shard: number;
  readonly #concurrency: number;
  #inFlight = 0;
  #lastAt = performance.now();

  constructor({ queue, shard, concurrency }: IntakeOptions) {
    this.queue = queue;
    this.shard = shard;
    this.#concurrency = concurrency;
  }

  get couldTakeMore(): boolean {
    return this.#inFlight < this.#concurrency;
  }

  /** ms since the worker last took or finished a job, or since its start. */
  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }

  count(deliver: Delivery): Delivery {
    return async (job, token) => {
      this.#inFlight += 1;
      this.#lastAt = performance.now();
      try {
        return await deliver(job, token);
      } finally {
        this.#inFlight -= 1;
        this.#lastAt = performance.now();
      }
    };
  }
}
