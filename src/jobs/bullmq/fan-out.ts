import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type Queue, WaitingChildrenError } from 'bullmq';
import { findWriteRefusal } from '../../domain/errors.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { nameRedisError } from '../../store/redis/errors.ts';
import { IN_FLIGHT_DELAY_MS, summarizeJob, wakePassJob } from '../job.ts';
import type {
  PassDeliveryResult,
  PassHandler,
  SummarizationDelivery,
  SummarizationHandler,
  SummarizationResult,
} from '../ports.ts';
import { type DeliveryListeners, deliverAgain, type JobDelivery, readJob } from './delivery.ts';
import type { QueueSet } from './queue-set.ts';

/**
 * Most child jobs that one transaction adds, because it blocks Redis and this process. 100,000 messages may need 12,000
 * jobs. After a crash between two transactions, the pass continues without the missing summaries.
 */
const CHILDREN_AT_ONCE = 500;

const TRY_AGAIN_MS = 250;

type Child = Extract<PassDeliveryResult, { status: 'parked' }>['children'][number];

/** Delivers passes. A pass whose child jobs have all ended is delivered again, and may then plan again. */
export function deliverPasses(handler: PassHandler, queues: QueueSet, listeners: DeliveryListeners): JobDelivery {
  return async (job, token) => {
    const read = await readJob(wakePassJob, job, token, listeners);
    if (read.status === 'dropped') return;
    const { conversation, traceParent } = read.task;
    let haveChildrenEnded = await haveAllChildrenEnded(job);
    for (;;) {
      const result = await handler({ conversation, job: needId(job), haveChildrenEnded, traceParent });
      if (result.status === 'done') return;
      if (result.status === 'postponed') return await deliverAgain(job, token, Date.now() + result.delayMs);
      if (haveChildrenEnded && result.children.length === 0)
        throw new Error(
          'a compaction pass asked to wait for child jobs twice, but named none. This is a bug in turnfold',
        );
      const queue = queues.of(summarizeJob.queue, conversation);
      for (let from = 0; from < result.children.length; from += CHILDREN_AT_ONCE) {
        const children = result.children.slice(from, from + CHILDREN_AT_ONCE);
        await retryRefused(listeners, () => addChildren(queue, job, children));
      }
      if (await retryRefused(listeners, () => job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
      // No child is pending: the job had no children, or all had ended before this line ran.
      haveChildrenEnded = true;
    }
  };
}

/**
 * True if the job has child jobs and all of them have ended. Reads BullMQ's own links to them, because a worker that
 * has lost the job could still change the job's data.
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
        parent: { id: needId(parent), queue: parent.queueQualifiedName },
        priority,
        attempts,
        backoff: { type: 'fixed', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: true,
        // A child returns its failure. A child that nevertheless fails counts as ended, so that its parent continues.
        ignoreDependencyOnFailure: true,
      },
    })),
  );
  // BullMQ returns a negative number as id if the parent does not exist, or if another parent has this child.
  const refused = added.find((job, index) => job.id !== children[index]?.child);
  if (refused !== undefined)
    throw new Error(`BullMQ refused to add a child job to job ${needId(parent)} (code ${String(refused.id)})`);
}

/**
 * Repeats a command while Redis refuses writes, at most as long as a pass may wait. Without the command, the pass would
 * wait for jobs that were never added.
 * @param listeners receive the first refusal
 * @param send may run several times without adding a job twice
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
 * Delivers summarizations. Every child job ends with a return value, because a failed child could block its parent for
 * ever. A model call continues after its job's lock is lost, because it must be paid for anyway.
 */
export function deliverSummarizations(handler: SummarizationHandler, listeners: DeliveryListeners): JobDelivery {
  return async (job, token): Promise<Outcome> => {
    const read = await readJob(summarizeJob, job, token, listeners);
    if (read.status === 'dropped') return 'failed';
    const isLastAttempt = job.attemptsMade + 1 >= summarizeJob.attempts;
    const delivery = { task: read.task, requestedAt: job.timestamp, isLastAttempt };
    const result = await handleOrFail(handler, delivery, listeners);
    if (result.status === 'ended') return result.outcome;
    return await deliverAgain(job, token, dueAgainAt(result));
  };
}

/** Time of the next delivery, at least a second from now: a provider might always ask for an immediate retry. */
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

function needId(job: Job<unknown>): string {
  if (job.id === undefined) throw new Error('BullMQ delivered a job without an id');
  return job.id;
}
