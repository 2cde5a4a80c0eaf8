import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type Queue, WaitingChildrenError } from 'bullmq';
import { findWriteRefusal } from '../domain/errors.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type {
  PassDeliveryResult,
  PassHandler,
  SummarizationDelivery,
  SummarizationHandler,
  SummarizationResult,
} from '../domain/ports/queue.ts';
import { IN_FLIGHT_DELAY_MS, summarizeJob } from '../jobs/summarize.ts';
import { wakePassJob } from '../jobs/wake-pass.ts';
import { nameRedisError } from '../redis/errors.ts';
import { type Delivery, type DeliveryListeners, deliverAgain, readJob } from './delivery.ts';
import type { QueueSet } from './queue-set.ts';

/**
 * Children per transaction: a transaction blocks Redis and this process, and a conversation of 100,000 messages may have
 * 12,000 sequences. After a crash between two transactions the pass settles without the missing summaries.
 */
const CHILDREN_AT_ONCE = 500;

/** ms between two tries of a command that Redis refuses. */
const TRY_AGAIN_MS = 250;

type Child = Extract<PassDeliveryResult, { status: 'parked' }>['children'][number];

/**
 * Delivers the wakes of passes and adds their children. A parked job is delivered again when all its children have ended.
 * Then it may be parked again: if the version changed meanwhile, a new plan has other sequences.
 */
export function deliverPasses(handler: PassHandler, queues: QueueSet, listeners: DeliveryListeners): Delivery {
  return async (job, token) => {
    const read = await readJob(wakePassJob, job, token, listeners);
    if (read.status === 'dropped') return;
    const { conversation, askedIn } = read.task;
    let haveChildrenEnded = await haveAllChildrenEnded(job);
    for (;;) {
      const result = await handler({ conversation, job: jobIdOf(job), haveChildrenEnded, askedIn });
      if (result.status === 'done') return;
      if (result.status === 'postponed') return await deliverAgain(job, token, Date.now() + result.delayMs);
      if (haveChildrenEnded && result.children.length === 0)
        throw new Error('a pass was parked twice without children');
      const queue = queues.of(summarizeJob.queue, conversation);
      for (let from = 0; from < result.children.length; from += CHILDREN_AT_ONCE) {
        const children = result.children.slice(from, from + CHILDREN_AT_ONCE);
        await retryRefused(listeners, () => addChildren(queue, job, children));
      }
      if (await retryRefused(listeners, () => job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
      // No child is pending: there were none, or all of them ended before this line.
      haveChildrenEnded = true;
    }
  };
}

/**
 * Reads the links between the jobs, which one transaction writes with the children. A field of the job's data could be
 * written by a worker that has lost the job. The answer is also false after a crash between adding children and parking.
 */
async function haveAllChildrenEnded(job: Job<unknown>): Promise<boolean> {
  const { unprocessed = 0, processed = 0, ignored = 0, failed = 0 } = await job.getDependenciesCount();
  return unprocessed === 0 && processed + ignored + failed > 0;
}

async function addChildren(queue: Queue, parent: Job<unknown>, children: readonly Child[]): Promise<void> {
  const { name, priority, attempts, backoffMs, write } = summarizeJob;
  const added = await queue.addBulk(
    children.map((child) => ({
      name,
      data: write(child),
      opts: {
        jobId: child.child,
        parent: { id: jobIdOf(parent), queue: parent.queueQualifiedName },
        priority,
        attempts,
        backoff: { type: 'fixed', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: true,
        // A child returns its failure as a value. A failed child counts as ended nevertheless, so its parent goes on.
        ignoreDependencyOnFailure: true,
      },
    })),
  );
  // BullMQ returns a negative number in place of the id if the parent is gone or another parent has this child.
  const refused = added.find((job, index) => job.id !== children[index]?.child);
  if (refused !== undefined) throw new Error(`a child of ${jobIdOf(parent)} was not added: ${String(refused.id)}`);
}

/**
 * Repeats a command for a parked pass while Redis refuses writes, for as long as a pass may be parked. Without the retry
 * the pass would wait for children that were never added.
 * @param listeners the first refusal is reported
 * @param send adds nothing twice
 */
async function retryRefused<T>({ report }: DeliveryListeners, send: () => Promise<T>): Promise<T> {
  const until = performance.now() + PASS_LIMITS.parkMs;
  let isReported = false;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const named = nameRedisError(error);
      if (findWriteRefusal(named) === undefined || performance.now() > until) throw error;
      if (!isReported) report(named);
      isReported = true;
      await sleep(TRY_AGAIN_MS, undefined, { ref: false });
    }
  }
}

type Outcome = Extract<SummarizationResult, { status: 'ended' }>['outcome'];

/**
 * Delivers the children of passes. Every child ends with a value, because a failed child could block its parent for ever.
 * A lost queue lock ends no model call, because the call is already paid.
 */
export function deliverSummarizations(handler: SummarizationHandler, listeners: DeliveryListeners): Delivery {
  return async (job, token): Promise<Outcome> => {
    const read = await readJob(summarizeJob, job, token, listeners);
    if (read.status === 'dropped') return 'failed';
    const isLastAttempt = job.attemptsMade + 1 >= summarizeJob.attempts;
    const delivery = { task: read.task, askedAt: job.timestamp, isLastAttempt };
    const result = await handleOrFail(handler, delivery, listeners);
    if (result.status === 'ended') return result.outcome;
    return await deliverAgain(job, token, dueAgainAt(result));
  };
}

/** A rate limit costs no attempt, so it waits at least a second: a provider that always answers "now" would be polled. */
function dueAgainAt(result: Exclude<SummarizationResult, { status: 'ended' }>): number {
  if (result.status === 'postponed') return Date.now() + result.delayMs;
  const soonest = Date.now() + IN_FLIGHT_DELAY_MS;
  return result.status === 'limited' ? Math.max(soonest, result.retryAt) : soonest;
}

async function handleOrFail(
  handler: SummarizationHandler,
  delivery: SummarizationDelivery,
  { report }: DeliveryListeners,
): Promise<SummarizationResult> {
  try {
    return await handler(delivery);
  } catch (error) {
    if (!delivery.isLastAttempt) throw error;
    report(error);
    return { status: 'ended', outcome: 'failed' };
  }
}

function jobIdOf(job: Job<unknown>): string {
  if (job.id === undefined) throw new Error('a delivered job has no id');
  return job.id;
}
