import { type Job, type Queue, WaitingChildrenError } from 'bullmq';
import type { PassDeliveryResult, PassHandler } from '../domain/ports/queue.ts';
import { DEFAULT_PRIORITY, QUEUES, SUMMARIZATION_ATTEMPTS, SUMMARIZATION_BACKOFF_MS } from '../jobs/names.ts';
import { readAskedIn, readWake, summarizationPayload } from '../jobs/payloads.ts';
import { type Delivery, type Drop, deliverAgain, type Report, readJob } from './delivery.ts';
import { holdCommand } from './held-command.ts';
import type { QueueSet } from './queue-set.ts';

/**
 * Added in one transaction, which holds Redis and this process. A conversation of 100,000 messages may have 12,000 sequences.
 * After a crash between two transactions the pass settles without the summaries of the later ones.
 */
const CHILDREN_AT_ONCE = 500;

type Child = Extract<PassDeliveryResult, { status: 'parked' }>['children'][number];

/**
 * Wakes of passes, and the fan-out: a parked job is delivered once more when all its children have ended. It may be parked
 * again then, on others: the version changed while they ran, and a new plan has sequences of its own.
 */
export function deliverPasses(
  handler: PassHandler,
  queues: QueueSet,
  { drop, report }: { readonly drop: Drop; readonly report: Report },
): Delivery {
  return async (job, token) => {
    const conversation = await readJob({ read: readWake, drop }, job, token);
    if (conversation === undefined) return;
    const askedIn = readAskedIn(job.data);
    let haveChildrenEnded = await haveAllChildrenEnded(job);
    for (;;) {
      const result = await handler({ conversation, job: jobIdOf(job), haveChildrenEnded, askedIn });
      if (result.status === 'done') return;
      if (result.status === 'postponed') return await deliverAgain(job, token, Date.now() + result.delayMs);
      if (haveChildrenEnded && result.children.length === 0) throw new Error('a pass was parked on no children, twice');
      const queue = queues.of(QUEUES.summarization, conversation);
      for (let from = 0; from < result.children.length; from += CHILDREN_AT_ONCE) {
        const children = result.children.slice(from, from + CHILDREN_AT_ONCE);
        await holdCommand(report, () => addChildren(queue, job, children));
      }
      if (await holdCommand(report, () => job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
      // None is pending: there were none, or all of them were quicker than this line.
      haveChildrenEnded = true;
    }
  };
}

/**
 * Read from the links between the jobs, which are written with the children: a note in the job's data could be written by
 * a worker that has lost the job. False also where a crash fell between the children and the parking.
 */
async function haveAllChildrenEnded(job: Job<unknown>): Promise<boolean> {
  const { unprocessed = 0, processed = 0, ignored = 0, failed = 0 } = await job.getDependenciesCount();
  return unprocessed === 0 && processed + ignored + failed > 0;
}

async function addChildren(queue: Queue, parent: Job<unknown>, children: readonly Child[]): Promise<void> {
  const added = await queue.addBulk(
    children.map((child) => ({
      name: QUEUES.summarization,
      data: summarizationPayload(child),
      opts: {
        jobId: child.child,
        parent: { id: jobIdOf(parent), queue: parent.queueQualifiedName },
        priority: DEFAULT_PRIORITY,
        attempts: SUMMARIZATION_ATTEMPTS,
        backoff: { type: 'fixed', delay: SUMMARIZATION_BACKOFF_MS },
        removeOnComplete: true,
        removeOnFail: true,
        // Ours return their failures. For one that fails all the same: noted as ended, so that its parent does not ask again.
        ignoreDependencyOnFailure: true,
      },
    })),
  );
  // A refusal (parent gone, id in use under another) comes back as a negative number in place of the id.
  const refused = added.find((job, index) => job.id !== children[index]?.child);
  if (refused !== undefined) throw new Error(`a child of ${jobIdOf(parent)} was not added: ${String(refused.id)}`);
}

function jobIdOf(job: Job<unknown>): string {
  if (job.id === undefined) throw new Error('a delivered job has no id');
  return job.id;
}
