import { UnrecoverableError } from 'bullmq';
import { ERROR_CODES, isTurnfoldError } from '../../domain/errors.ts';
import type { InboxDelivery } from '../../domain/events.ts';
import type { InboxHandler } from '../ports.ts';
import { type Delivery, deliverAgain } from './delivery.ts';

/** First delay in ms of a job that Redis cannot take now. The delay doubles with each delivery. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Delivers jobs of the inbox queue. A job that cannot be accepted fails at once, and its `failedReason` is the coded error
 * as JSON. A job is delivered again, without counting an attempt, while Redis or the worker is the reason.
 */
export function deliverInbox(handler: InboxHandler, onTaken: (delivery: InboxDelivery) => void): Delivery {
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
