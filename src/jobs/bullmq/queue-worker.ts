import { type Job, type JobJson, type RedisQueueBackend, Worker, type WorkerOptions } from 'bullmq';
import { refuseJsonText } from '../../domain/json-text.ts';
import { describeThrown, isError, readSafely } from '../../domain/thrown.ts';
import { IDLE_LOOK_SECONDS, QUEUE_TIMES, type QueueName, queuePrefix } from '../queues.ts';
import type { JobDelivery } from './delivery.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { HOUR_MINUTES } from './queue-reports.ts';
import { reportErrors } from './queue-set.ts';

export interface QueueWorkerOptions {
  readonly name: QueueName;
  readonly shard: number;
  readonly prefix: string | undefined;
  readonly connection: QueueConnection;
  /** Number of jobs that the worker runs at the same time. */
  readonly concurrency: number;
  readonly deliver: JobDelivery;
  readonly onError: QueueErrorListener;
  /**
   * Called when the lock of a job has lapsed and the job waits again: its worker died, froze or lost its connection to
   * Redis. BullMQ notifies one worker of the queue.
   */
  readonly onReclaim?: (queue: QueueName) => void;
  /** Largest data of a job, in characters of JSON. Longer data is not parsed, and is delivered as a symbol. */
  readonly maxDataCharacters?: number;
  /** Finished jobs that Redis keeps if a job does not say so itself. */
  readonly kept?: Pick<WorkerOptions, 'removeOnComplete' | 'removeOnFail'>;
}

/**
 * Data of a delivered job whose own data is too long, too deep or has too many values. Such data is not parsed: 4 MB can be a
 * million objects.
 */
const TOO_LONG = Symbol('too long');

/**
 * Number of worker crashes after which BullMQ fails a job. The store has its own limit for crashes, so this number is
 * never reached.
 */
const MAX_STALLED_COUNT = 1_000_000_000;

const MAX_ERROR_CHARACTERS = 32_000;

/** Creates a worker for one shard of one queue. The worker takes jobs after its `run` was called. */
export function openQueueWorker(options: QueueWorkerOptions): Worker<unknown> {
  const { name, deliver } = options;
  const settings = {
    autorun: false,
    connection: options.connection,
    prefix: queuePrefix(options.shard, options.prefix),
    concurrency: options.concurrency,
    lockDuration: QUEUE_TIMES.lockMs,
    stalledInterval: QUEUE_TIMES.stalledCheckMs,
    maxStalledCount: MAX_STALLED_COUNT,
    drainDelay: IDLE_LOOK_SECONDS,
    metrics: { maxDataPoints: HOUR_MINUTES },
    ...options.kept,
  };
  const worker = new SteadyWorker(
    name,
    // With a third parameter, BullMQ would pass a signal to the handler, and other parts of BullMQ could abort it.
    (job, token) => deliverSafely(deliver, job, token ?? ''),
    settings,
    options.maxDataCharacters ?? Number.POSITIVE_INFINITY,
  );
  const report = reportErrors(name, options.onError);
  worker.on('error', report);
  worker.on('failed', (_job, error) => {
    if (error.name !== 'UnrecoverableError') report(error);
  });
  worker.on('stalled', () => options.onReclaim?.(name));
  return worker;
}

/**
 * Delivers a job, and replaces a thrown value by a plain error. BullMQ reads the message and stack of that value, and
 * stores the message with the job.
 */
async function deliverSafely(deliver: JobDelivery, job: Parameters<JobDelivery>[0], token: string): Promise<unknown> {
  try {
    return await deliver(job, token);
  } catch (error) {
    if (isPlain(error)) throw error;
    const { name, message } = describeThrown(error);
    throw Object.assign(new Error(message), { name });
  }
}

/** True if message and stack of an error are readable, and small enough to be stored with a job. */
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
 * A BullMQ worker that survives malformed jobs. BullMQ parses a job when it takes the job. A parse error would stop the
 * whole worker for 15 s, and the job would come back each time it is found stalled.
 */
class SteadyWorker extends Worker<unknown> {
  readonly #maxDataCharacters: number;

  constructor(
    name: string,
    process: Processor,
    options: WorkerOptions & { connection: QueueConnection },
    maxDataCharacters: number,
  ) {
    super(name, process, options);
    this.#maxDataCharacters = maxDataCharacters;
    checkTakenJobs(this.backend, (jobId, fields) => options.connection.hdel(this.toKey(jobId), ...fields));
  }

  /** If the data of a job is not JSON or too long, the job is created without data. Its delivery then refuses the job. */
  protected override createJob(json: JobJson, jobId: string): Job<unknown> {
    const data: unknown = json.data; // another program may have written the job without data
    if (typeof data === 'string' && (data.length > this.#maxDataCharacters || refuseJsonText(data) !== undefined)) {
      const job = super.createJob({ ...json, data: JSON_NULL }, jobId);
      job.data = TOO_LONG;
      return job;
    }
    return super.createJob(isJson(json.data) ? json : { ...json, data: JSON_NULL }, jobId);
  }

  /**
   * Creates the job that was taken, and adds the next one if the job is of a schedule. A schedule that is broken or gone would
   * otherwise keep its job in progress for ever.
   */
  protected override async nextJobFromJobData(json?: JobJson, jobId?: string, token?: string): Promise<Job<unknown>> {
    const job: Job<unknown> | undefined = await super.nextJobFromJobData(json, jobId, token);
    if (job !== undefined || json?.repeatJobKey === undefined) return job;
    return await super.nextJobFromJobData({ ...json, repeatJobKey: '' }, jobId, token);
  }

  /**
   * Takes the next job. The event `drained` of BullMQ comes only if the worker had a job before. Here it comes each time no
   * job is found.
   */
  protected override async moveToActive(token: string, name?: string): Promise<Job<unknown>> {
    const job = await super.moveToActive(token, name);
    if (!(job as Job<unknown> | undefined)) this.emit('drained');
    return job;
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
  /** Number of jobs that the worker runs at the same time. */
  readonly concurrency: number;
}

/** Counts the jobs that one worker takes. A worker is stuck if jobs wait and it could run more, but takes none. */
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
    return this.room > 0;
  }

  /** Number of further jobs that the worker could run now. */
  get room(): number {
    return this.#concurrency - this.#inFlight;
  }

  /** ms since the worker last took or finished a job. If it took none yet, ms since the start of the worker. */
  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }

  count(deliver: JobDelivery): JobDelivery {
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

/** Fields of a job that BullMQ parses when a worker takes the job. The data is not among them: its limit depends on the queue. */
const PARSED: readonly unknown[] = ['opts', 'progress', 'parent', 'stacktrace', 'returnvalue'];
/** Longest such field, in characters. turnfold writes a few hundred. */
const MOST_CHARACTERS = 65_536;
/** Commands whose reply contains the next job of the worker. */
const TAKING: ReadonlySet<string> = new Set(['moveToActive', 'moveToFinished']);
/** A job that a delivery refuses. It is not kept. */
const WITHOUT_DATA = ['data', 'null', 'opts', '{"removeOnComplete":true,"removeOnFail":true}'];

/**
 * Checks each job that a worker takes before BullMQ parses its fields, because another program may have written them. Text that is
 * not JSON would stop the worker for 15 s. JSON of 4 MB would hold its event loop. Such a job is delivered without data.
 * @param clear removes fields of the job's record in Redis, because BullMQ's scripts parse them too
 */
function checkTakenJobs(
  backend: RedisQueueBackend,
  clear: (jobId: string, fields: readonly string[]) => Promise<unknown>,
): void {
  const execute = backend.execCommand.bind(backend);
  backend.execCommand = (client, command, args): unknown => {
    const reply: unknown = execute(client, command, args);
    return TAKING.has(command) && reply instanceof Promise ? reply.then(replaceUnreadable) : reply;
  };

  async function replaceUnreadable(reply: unknown): Promise<unknown> {
    if (!Array.isArray(reply)) return reply;
    const [fields, jobId, ...limits] = reply as unknown[];
    if (!Array.isArray(fields) || typeof jobId !== 'string' || !isUnreadable(fields)) return reply;
    await clear(jobId, ['parent', 'parentKey']);
    return [WITHOUT_DATA, jobId, ...limits];
  }
}

/** @param fields names and values of a job, in turn */
function isUnreadable(fields: readonly unknown[]): boolean {
  return fields.some((text, at) => at % 2 === 1 && PARSED.includes(fields[at - 1]) && isHostile(text));
}

function isHostile(text: unknown): boolean {
  if (typeof text !== 'string' || text === '') return false;
  if (text.length > MOST_CHARACTERS || refuseJsonText(text) !== undefined) return true;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
