import type { SummarizationDelivery, SummarizationHandler, SummarizationResult } from '../domain/ports/queue.ts';
import { QUEUE_TIMES, SUMMARIZATION_ATTEMPTS } from '../jobs/names.ts';
import { readSummarizationTask } from '../jobs/payloads.ts';
import { type Delivery, type Drop, deliverAgain, type Report, readJob } from './delivery.ts';

type Outcome = Extract<SummarizationResult, { status: 'ended' }>['outcome'];

/**
 * Children of passes. However one ends, it ends as a value: a child that failed could leave its parent waiting for ever.
 * A lost queue lock ends no model call, for the call is paid already.
 */
export function deliverSummarizations(
  handler: SummarizationHandler,
  { report, drop }: { readonly report: Report; readonly drop: Drop },
): Delivery {
  return async (job, token): Promise<Outcome> => {
    const task = await readJob({ read: readSummarizationTask, drop }, job, token);
    if (task === undefined) return 'failed';
    const isLastAttempt = job.attemptsMade + 1 >= SUMMARIZATION_ATTEMPTS;
    const delivery = { task, askedAt: job.timestamp, isLastAttempt };
    const result = await handleOrFail(handler, delivery, report);
    if (result.status === 'ended') return result.outcome;
    return await deliverAgain(job, token, dueAgainAt(result));
  };
}

/** A provider's limit never ends at once: it costs no attempt, and a provider whose time is always now would be asked without end. */
function dueAgainAt(result: Exclude<SummarizationResult, { status: 'ended' }>): number {
  if (result.status === 'postponed') return Date.now() + result.delayMs;
  const soonest = Date.now() + QUEUE_TIMES.inFlightDelayMs;
  return result.status === 'limited' ? Math.max(soonest, result.retryAt) : soonest;
}

async function handleOrFail(
  handler: SummarizationHandler,
  delivery: SummarizationDelivery,
  report: Report,
): Promise<SummarizationResult> {
  try {
    return await handler(delivery);
  } catch (error) {
    if (!delivery.isLastAttempt) throw error;
    report(error);
    return { status: 'ended', outcome: 'failed' };
  }
}
