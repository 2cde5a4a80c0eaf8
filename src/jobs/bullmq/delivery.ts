import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import { ERROR_CODES, isTurnfoldError } from '../../domain/errors.ts';
import type { InboxDelivery } from '../../domain/events.ts';
import {
  isNewerPayload,
  type JobDefinition,
  NEWER_PAYLOAD_DELAY_MS,
  NEWER_PAYLOAD_TRIES,
  wakeTurnJob,
} from '../job.ts';
import type { InboxHandler, TurnHandler } from '../ports.ts';
import { DEFAULT_PRIORITY, LOWEST_PRIORITY } from '../queues.ts';

/** Handles one job of a queue. BullMQ stores the return value with the job. A thrown error fails the attempt. */
export type JobDelivery = (job: Job<unknown>, token: string) => Promise<unknown>;

export interface DeliveryListeners {
  readonly report: (error: unknown) => void;
  /** Called for a job that was removed because its data cannot be read. */
  readonly drop: DropListener;
}

type DropListener = (job: string, error: unknown) => void;

/** Conversations that are handled within the job of another one. */
export interface Lanes {
  /** Resolves when the job is to end. */
  work(job: Pick<Job, 'timestamp' | 'processedOn'>, handler: TurnHandler): Promise<void>;
}

/** Delivers the jobs that wake conversations with turns. A job may then go on with due wakes. */
export function deliverTurns(
  handler: TurnHandler,
  listeners: Pick<DeliveryListeners, 'drop'>,
  lanes?: Lanes,
): JobDelivery {
  return async (job, token) => {
    const read = await readJob(wakeTurnJob, job, token, listeners);
    if (read.status === 'dropped') return;
    // A worker that has room at its start takes jobs of any priority. But due wakes come before those of a worse one.
    if (job.priority > DEFAULT_PRIORITY) await lanes?.work(job, handler);
    const result = await handler(read.task.conversation);
    if (result.status === 'postponed') await deliverAgain(job, token, Date.now() + result.delayMs);
    await lanes?.work(job, handler);
  };
}

/**
 * Puts a job back into the queue, where any worker may take it.
 * @param at ms since epoch from which the job may be taken
 * @throws DelayedError, which tells BullMQ to delay the job. The delay costs the job no attempt.
 */
export async function deliverAgain(job: Job<unknown>, token: string, at: number): Promise<never> {
  await job.moveToDelayed(at, token);
  throw new DelayedError();
}

type ReadJob<Task> = { readonly status: 'read'; readonly task: Task } | { readonly status: 'dropped' };

/**
 * Parses a job's data. Removes a job with unreadable data, because another attempt would fail again.
 *
 * During a deployment, workers of two releases run side by side. A worker of the older release delays a job of the
 * newer release, so that a newer worker can take it. If no worker takes the job, because the newer release was rolled
 * back, the job is removed. The turn or compaction pass that the job stands for is in Redis, so the sweeper adds a new
 * job that this release can read.
 * @throws DelayedError, which costs the job no attempt
 */
export async function readJob<Task>(
  definition: JobDefinition<Task>,
  job: Job<unknown>,
  token: string,
  { drop }: Pick<DeliveryListeners, 'drop'>,
): Promise<ReadJob<Task>> {
  if (isNewerPayload(job.data) && job.attemptsStarted <= NEWER_PAYLOAD_TRIES) {
    // After its delay, BullMQ puts a job behind all others of the same priority. The lowest priority keeps it behind
    // all readable jobs.
    await job.changePriority({ priority: LOWEST_PRIORITY });
    return await deliverAgain(job, token, Date.now() + newerDelay(job.attemptsStarted));
  }
  try {
    return { status: 'read', task: definition.read(job.data) };
  } catch (error) {
    job.opts.removeOnComplete = true;
    drop(job.id ?? '', error);
    return { status: 'dropped' };
  }
}

/**
 * Delay before a job of a newer release is tried again: 1, 2, 4 … 32 s. When the delay was always one second, 5,000
 * such jobs kept all other jobs waiting for 32 s.
 */
function newerDelay(attempt: number): number {
  return NEWER_PAYLOAD_DELAY_MS * 2 ** (Math.max(1, attempt) - 1);
}

/** First delay in ms of a job that Redis cannot take now. The delay doubles with each delivery. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Delivers jobs of the inbox queue. A job that cannot be accepted fails at once, and its `failedReason` is the coded error
 * as JSON. A job is delivered again, without counting an attempt, while Redis or the worker is the reason.
 */
export function deliverInbox(handler: InboxHandler, onTaken: (delivery: InboxDelivery) => void): JobDelivery {
  return async (job, token) => {
    const id = job.id ?? '';
    try {
      const accepted = await handler({ id, name: job.name, addedAt: job.timestamp, data: job.data });
      onTaken({ job: id, outcome: accepted.isNew ? 'moved' : 'repeated' });
      return accepted;
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
      const { code } = error;
      if (ERROR_CODES[code] === 'service') {
        onTaken({ job: id, outcome: 'postponed', code });
        const delayMs = Math.min(RETRY_MS * 2 ** (job.attemptsStarted - 1), LONGEST_RETRY_MS);
        return await deliverAgain(job, token, Date.now() + delayMs);
      }
      onTaken({ job: id, outcome: 'refused', code, error });
      throw new UnrecoverableError(JSON.stringify(error.toJSON()));
    }
  };
}
