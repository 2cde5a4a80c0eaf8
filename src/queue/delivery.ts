import { DelayedError, type Job } from 'bullmq';
import type { TurnHandler } from '../domain/ports/queue.ts';
import { isNewerPayload, type JobDefinition, NEWER_PAYLOAD_DELAY_MS, NEWER_PAYLOAD_TRIES } from '../jobs/job.ts';
import { LOWEST_PRIORITY } from '../jobs/queues.ts';
import { wakeTurnJob } from '../jobs/wake-turn.ts';

/** Handles one job of a queue. The return value is stored with the job. An error fails the attempt. */
export type Delivery = (job: Job<unknown>, token: string) => Promise<unknown>;

export interface DeliveryListeners {
  readonly report: (error: unknown) => void;
  /** Called for a job that was removed because it cannot be read. */
  readonly drop: DropListener;
}

export type DropListener = (job: string, error: unknown) => void;

/** Delivers the wakes of turns. */
export function deliverTurns(handler: TurnHandler, listeners: Pick<DeliveryListeners, 'drop'>): Delivery {
  return async (job, token) => {
    const read = await readJob(wakeTurnJob, job, token, listeners);
    if (read.status === 'dropped') return;
    const result = await handler(read.task.conversation);
    if (result.status === 'postponed') await deliverAgain(job, token, Date.now() + result.delayMs);
  };
}

/**
 * Puts a job back, to be taken by any worker.
 * @param at ms since epoch
 * @throws DelayedError, which costs the job no attempt
 */
export async function deliverAgain(job: Job<unknown>, token: string, at: number): Promise<never> {
  await job.moveToDelayed(at, token);
  throw new DelayedError();
}

export type ReadJob<Task> = { readonly status: 'read'; readonly task: Task } | { readonly status: 'dropped' };

/**
 * Reads a job's data. A job that cannot be read is dropped, because another run would fail again.
 *
 * While old and new workers run side by side, the old ones leave a job of a newer program to the new ones. If no worker
 * takes the job, because the new program was rolled back, the job is dropped. The state that it stands for is in Redis,
 * so the sweeper adds a job that this program can read.
 * @throws DelayedError, which costs the job no attempt
 */
export async function readJob<Task>(
  definition: JobDefinition<Task>,
  job: Job<unknown>,
  token: string,
  { drop }: Pick<DeliveryListeners, 'drop'>,
): Promise<ReadJob<Task>> {
  if (isNewerPayload(job.data) && job.attemptsStarted <= NEWER_PAYLOAD_TRIES) {
    // After its delay BullMQ puts a job behind all others of its priority. The lowest one keeps readable jobs in front.
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

/** 1, 2, 4 … 32 s. With a constant second, 5,000 such jobs kept all others waiting for 32 s. */
function newerDelay(attempt: number): number {
  return NEWER_PAYLOAD_DELAY_MS * 2 ** (Math.max(1, attempt) - 1);
}
