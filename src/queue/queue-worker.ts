import type { Worker } from 'bullmq';
import { describeThrown, isError, readSafely } from '../domain/thrown.ts';
import { QUEUE_TIMES, type QueueName, queuePrefix } from '../jobs/names.ts';
import type { Delivery, Drop } from './delivery.ts';
import type { QueueConnection, QueueErrorListener } from './queue-connection.ts';
import { reportErrors } from './queue-set.ts';
import { SteadyWorker } from './steady-worker.ts';

export interface QueueWorkerOptions {
  readonly name: QueueName;
  readonly shard: number;
  readonly namespace: string | undefined;
  readonly connection: QueueConnection;
  /** jobs at a time */
  readonly concurrency: number;
  readonly deliver: Delivery;
  readonly onError: QueueErrorListener;
  readonly onDrop: Drop;
  /**
   * a job's lock had lapsed, and it waits again: its worker died, froze, lost Redis or stopped before it was done. Acknowledged to one
   * worker of the queue
   */
  readonly onReclaim?: (queue: QueueName) => void;
}

/** BullMQ fails a job for good after so many crashes, whatever its attempts. The budget for crashes is our own, in the store. */
const MAX_STALLED_COUNT = 1_000_000_000;

const MAX_ERROR_CHARACTERS = 32_000;

/** Makes a worker for one shard of one queue; `run` starts it. */
export function openQueueWorker(options: QueueWorkerOptions): Worker<unknown> {
  const { name, deliver } = options;
  // Two parameters: asked with three, BullMQ would hand in a signal that others of its parts may abort.
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

/** BullMQ reads message and stack of what a delivery throws, and keeps the message with the job: any error will do. */
async function deliverSafely(deliver: Delivery, job: Parameters<Delivery>[0], token: string): Promise<unknown> {
  try {
    return await deliver(job, token);
  } catch (error) {
    if (isPlain(error)) throw error;
    const { name, message } = describeThrown(error);
    throw Object.assign(new Error(message), { name });
  }
}

/** An error whose texts can be read and are of a size that a job may keep. */
function isPlain(error: unknown): error is Error {
  const [message, stack] = [readSafely(error, 'message'), readSafely(error, 'stack')];
  return isError(error) && isShort(message) && isShort(stack);
}

function isShort(text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_ERROR_CHARACTERS;
}
