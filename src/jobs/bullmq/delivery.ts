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

/** Runs a job. BullMQ stores the return value with the job. A thrown error fails the attempt. */
export type JobDelivery = (job: Job<unknown>, token: string) => Promise<unknown>;

export interface DeliveryListeners {
  readonly report: (error: unknown) => void;
  /** Called when a job was removed because its data cannot be read. */
  readonly drop: (job: string, error: unknown) => void;
}

/** Lets a running job also handle conversations that have a due wake (a wake without a job). */
export interface DueWakeHandler {
  handleDueWakes(job: Pick<Job, 'timestamp' | 'processedOn'>, handler: TurnHandler): Promise<void>;
}

export function deliverTurns(
  handler: TurnHandler,
  listeners: Pick<DeliveryListeners, 'drop'>,
  runner?: DueWakeHandler,
): JobDelivery {
  return async (job, token) => {
    const read = await readJob(wakeTurnJob, job, token, listeners);
    if (read.status === 'dropped') return;
    // BullMQ gives a worker with free capacity jobs of any priority. Due wakes have the default priority, so they run
    // before a job of worse priority.
    if (job.priority > DEFAULT_PRIORITY) await runner?.handleDueWakes(job, handler);
    const result = await handler(read.task.conversation);
    if (result.status === 'postponed') await deliverAgain(job, token, Date.now() + result.delayMs);
    await runner?.handleDueWakes(job, handler);
  };
}

/**
 * @param at ms since epoch
 * @throws DelayedError, which tells BullMQ to deliver the job later without counting an attempt
 */
export async function deliverAgain(job: Job<unknown>, token: string, at: number): Promise<never> {
  await job.moveToDelayed(at, token);
  throw new DelayedError();
}

/**
 * Reads the data of a job. A job with unreadable data is removed, because another attempt would fail again.
 *
 * During a deployment, a worker of the older release delays a job of the newer release, so that a newer worker takes
 * it. If no newer worker runs any more, the job is removed, and the sweeper adds a job that this release can read.
 * @throws DelayedError, which costs the job no attempt
 */
export async function readJob<Task>(
  definition: JobDefinition<Task>,
  job: Job<unknown>,
  token: string,
  { drop }: Pick<DeliveryListeners, 'drop'>,
): Promise<{ readonly status: 'read'; readonly task: Task } | { readonly status: 'dropped' }> {
  if (isNewerPayload(job.data) && job.attemptsStarted <= NEWER_PAYLOAD_TRIES) {
    // BullMQ puts a delayed job behind others of its priority. The lowest priority keeps the job behind all readable
    // jobs.
    await job.changePriority({ priority: LOWEST_PRIORITY });
    // Delays of 1, 2, 4 … 32 s. With a delay of 1 s each time, 5,000 jobs of a newer release kept all other jobs
    // waiting for 32 s.
    const delayMs = NEWER_PAYLOAD_DELAY_MS * 2 ** (Math.max(1, job.attemptsStarted) - 1);
    return await deliverAgain(job, token, Date.now() + delayMs);
  }
  try {
    return { status: 'read', task: definition.read(job.data) };
  } catch (error) {
    job.opts.removeOnComplete = true;
    drop(job.id ?? '', error);
    return { status: 'dropped' };
  }
}

/** ms before the second delivery of an inbox job. The delay doubles with each delivery. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * A job of the inbox that cannot be accepted fails at once, with the coded error as JSON in `failedReason`. After an
 * outage, the job is delivered again without counting an attempt.
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
