import { UnrecoverableError } from 'bullmq';
import { ERROR_CODES, isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { InboxHandler } from '../domain/ports/queue.ts';
import { type Delivery, deliverAgain } from './delivery.ts';

/** First delay in ms of a job that Redis cannot take now. The delay doubles with each delivery. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Delivers jobs of the inbox queue. A job that cannot be accepted fails at once, and its `failedReason` is the coded error
 * as JSON. A job is delivered again, without counting an attempt, while Redis or the worker is the reason.
 */
export function deliverInbox(handler: InboxHandler, onRefused: (job: string, error: TurnfoldError) => void): Delivery {
  return async (job, token) => {
    const id = job.id ?? '';
    try {
      return await handler({ id, name: job.name, addedAt: job.timestamp, data: job.data });
    } catch (error) {
      if (!isTurnfoldError(error)) throw error;
      if (ERROR_CODES[error.code] === 'service') {
        const delayMs = Math.min(RETRY_MS * 2 ** (job.attemptsStarted - 1), LONGEST_RETRY_MS);
        return await deliverAgain(job, token, Date.now() + delayMs);
      }
      onRefused(id, error);
      throw new UnrecoverableError(JSON.stringify(error.toJSON()));
    }
  };
}
