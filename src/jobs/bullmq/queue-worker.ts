import { type Job, type JobJson, type RedisQueueBackend, Worker, type WorkerOptions } from 'bullmq';
import { refuseJsonText } from '../../domain/json-text.ts';
import { describeThrown, isError, readSafely } from '../../domain/thrown.ts';
import { IDLE_LOOK_SECONDS, QUEUE_TIMES, type QueueName, queuePrefix } from '../queues.ts';
import type { JobDelivery } from './delivery.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { HOUR_MINUTES } from './queue-reports.ts';
import { reportErrors } from './queue-set.ts';

interface QueueWorkerOptions {
  readonly name: QueueName;
  readonly shard: number;
  readonly prefix: string | undefined;
  readonly connection: QueueConnection;
  readonly concurrency: number;
  readonly deliver: JobDelivery;
  readonly onError: QueueErrorListener;
  /** Called when the lock of a job has lapsed and the job waits again. BullMQ notifies one worker of the queue. */
  readonly onReclaim?: (queue: QueueName) => void;
  /** Longest data that is parsed, in characters. The delivery of a job with longer data gets a symbol instead. */
  readonly maxDataCharacters?: number;
  /** How many finished jobs Redis keeps, and for how long. A setting of the job itself comes first. */
  readonly kept?: Pick<WorkerOptions, 'removeOnComplete' | 'removeOnFail'>;
}

/** Stands for data that is too long or too deep. Such data is not parsed, because 4 MB can be a million objects. */
const TOO_LONG = Symbol('too long');

/** The store limits the number of crashes of a turn, so BullMQ's own limit must never be reached. */
const MAX_STALLED_COUNT = 1_000_000_000;

const MAX_ERROR_CHARACTERS = 32_000;

/** Opens a worker, which takes jobs once its `run` was called. */
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
    // If this function had a third parameter, BullMQ would pass a signal that other parts of BullMQ can abort.
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

/** Replaces a thrown value that is no plain error, because BullMQ reads message and stack of every thrown value. */
async function deliverSafely(deliver: JobDelivery, job: Parameters<JobDelivery>[0], token: string): Promise<unknown> {
  try {
    return await deliver(job, token);
  } catch (error) {
    if (isPlain(error)) throw error;
    const { name, message } = describeThrown(error);
    throw Object.assign(new Error(message), { name });
  }
}

/** True if message and stack can be read, and are small enough to be stored with a job. */
function isPlain(error: unknown): error is Error {
  const [message, stack] = [readSafely(error, 'message'), readSafely(error, 'stack')];
  return isError(error) && isShort(message) && isShort(stack);
}

function isShort(text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_ERROR_CHARACTERS;
}

const JSON_NULL = 'null';

/** A worker that checks a job before BullMQ parses it, because an error of that parser stops the worker for 15 s. */
class SteadyWorker extends Worker<unknown> {
  readonly #maxDataCharacters: number;

  constructor(
    name: string,
    process: (job: Job<unknown>, token?: string) => Promise<unknown>,
    options: WorkerOptions & { connection: QueueConnection },
    maxDataCharacters: number,
  ) {
    super(name, process, options);
    this.#maxDataCharacters = maxDataCharacters;
    checkTakenJobs(this.backend, (jobId, fields) => options.connection.hdel(this.toKey(jobId), ...fields));
  }

  /** Replaces data that is too long by a symbol, so that the delivery refuses the job. */
  protected override createJob(json: JobJson, jobId: string): Job<unknown> {
    const data: unknown = json.data; // another program may have written the job without data
    if (typeof data === 'string' && (data.length > this.#maxDataCharacters || refuseJsonText(data) !== undefined)) {
      const job = super.createJob({ ...json, data: JSON_NULL }, jobId);
      job.data = TOO_LONG;
      return job;
    }
    return super.createJob(isJson(json.data) ? json : { ...json, data: JSON_NULL }, jobId);
  }

  /** Without this check, a job whose schedule is broken or missing would stay in progress for ever. */
  protected override async nextJobFromJobData(json?: JobJson, jobId?: string, token?: string): Promise<Job<unknown>> {
    const job: Job<unknown> | undefined = await super.nextJobFromJobData(json, jobId, token);
    if (job !== undefined || json?.repeatJobKey === undefined) return job;
    return await super.nextJobFromJobData({ ...json, repeatJobKey: '' }, jobId, token);
  }

  /** Emits `drained` each time no job is found. BullMQ emits `drained` only if the worker had a job before. */
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

interface IntakeOptions {
  readonly queue: QueueName;
  readonly shard: number;
  readonly concurrency: number;
}

/** Measures whether a worker takes jobs. A worker is stuck if jobs wait and it has free capacity, but takes none. */
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

  get room(): number {
    return this.#concurrency - this.#inFlight;
  }

  /** ms since the worker last took or finished a job, or started. */
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

/** Fields that BullMQ parses when a worker takes a job. The limit of the data depends on the queue. */
const PARSED: readonly unknown[] = ['opts', 'progress', 'parent', 'stacktrace', 'returnvalue'];
/** Limit in characters of each field in `PARSED`. turnfold writes a few hundred. */
const MOST_CHARACTERS = 65_536;
const TAKING: ReadonlySet<string> = new Set(['moveToActive', 'moveToFinished']);
/** Replaces the fields of an unreadable job. The delivery refuses a job without data, and BullMQ does not keep it. */
const WITHOUT_DATA = ['data', 'null', 'opts', '{"removeOnComplete":true,"removeOnFail":true}'];

/**
 * Checks taken jobs before BullMQ parses their fields, which another program may have written. Text that is not JSON
 * would stop the worker for 15 s, and JSON of 4 MB would hold its event loop. Such a job is delivered without data.
 * @param clear removes fields of the job's record, because BullMQ's scripts parse them too
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

/** True if BullMQ could not parse a job. @param fields names and values of the job, alternating */
function isUnreadable(fields: readonly unknown[]): boolean {
  return fields.some((text, at) => at % 2 === 1 && PARSED.includes(fields[at - 1]) && isHostile(text));
}

function isHostile(text: unknown): boolean {
  if (typeof text !== 'string' || text === '') return false;
  return text.length > MOST_CHARACTERS || refuseJsonText(text) !== undefined || !isJson(text);
}
