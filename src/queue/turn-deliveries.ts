import type { TurnHandler } from '../domain/ports/queue.ts';
import { readWake } from '../jobs/payloads.ts';
import { type Delivery, type Drop, deliverAgain, readJob } from './delivery.ts';

/** Wakes of turns. One that fails is not tried again: the sweeper wakes what is still due. */
export function deliverTurns(handler: TurnHandler, drop: Drop): Delivery {
  return async (job, token) => {
    const conversation = await readJob({ read: readWake, drop }, job, token);
    if (conversation === undefined) return;
    const result = await handler(conversation);
    if (result !== undefined) await deliverAgain(job, token, Date.now() + result.delayMs);
  };
}
