import type { InboxHandler } from '../../jobs/ports.ts';
import { type EnqueuePorts, enqueueTurn } from '../client/turns.ts';
import { readTurnJob } from './turn-job.ts';

/** Creates the handler of the inbox queue: validates each job, and accepts its turn as the client does. */
export function createInboxHandler(ports: EnqueuePorts): InboxHandler {
  return async (job) => {
    const { tenant, conversation, turn, state, isNew } = await enqueueTurn(ports, readTurnJob(job));
    return { tenant, conversation, turn, state, isNew };
  };
}
