import { isTurnfoldError } from '../../domain/errors.ts';
import type { QueueWorkers } from '../../jobs/bullmq/queue-workers.ts';
import type { OpenWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import type { ConnectedStore } from '../../store/connect-store.ts';
import type { DatabaseWatch } from '../../store/database-watch.ts';
import { examineLoss } from './database-checks.ts';
import type { EventLoopMonitor } from './event-loop-monitor.ts';
import { type Finding, findOk, findWrong } from './finding.ts';
import type { Check } from './readiness.ts';

interface CheckedParts {
  readonly checkServer: ConnectedStore['checkServer'];
  readonly databaseChecks: Pick<DatabaseWatch, 'readLoss'>;
  readonly wakes: Pick<OpenWakeQueue, 'readShardWaits'>;
  readonly workers: Pick<QueueWorkers, 'isRunning' | 'intakes'>;
  readonly loop: Pick<EventLoopMonitor, 'worstMs'>;
  /** ms that a job may wait while this worker has free capacity. */
  readonly stuckMs: number;
}

/** Half of a lease of 8 s, in ms. A longer block of the event loop has cost two lease renewals. */
const BLOCKED_MS = 4_000;

export function listWorkerChecks({
  checkServer,
  databaseChecks,
  wakes,
  workers,
  loop,
  stuckMs,
}: CheckedParts): Check[] {
  return [
    {
      name: 'redis',
      run: () => checkRedis(checkServer),
      remedy: 'Check Redis and the network. The worker continues without a restart when Redis is back.',
    },
    {
      name: 'database',
      run: async () => examineLoss(await databaseChecks.readLoss()),
      remedy: 'Check Redis and the network.',
    },
    {
      name: 'queues',
      run: () =>
        workers.isRunning()
          ? findOk('queues', 'all queue workers run')
          : findWrong('queues', 'a queue worker has stopped', 'Read the log of the worker, then restart the worker.'),
      remedy: 'Restart the worker.',
    },
    {
      name: 'intake',
      run: () => checkIntake(wakes, workers, stuckMs),
      remedy: 'Check Redis: it did not return how long jobs have waited.',
    },
    {
      name: 'event loop',
      run: () =>
        loop.worstMs < BLOCKED_MS
          ? findOk('event loop', `blocked for at most ${Math.round(loop.worstMs)} ms in the last ten seconds`)
          : findWrong(
              'event loop',
              `blocked for ${Math.round(loop.worstMs)} ms, so other workers may take over the turns of this worker`,
              'Look for tools that compute for seconds without a pause, and for a lack of CPU.',
            ),
      remedy: 'Restart the worker.',
    },
  ];
}

async function checkRedis(checkServer: CheckedParts['checkServer']): Promise<Finding> {
  try {
    await checkServer();
    return findOk('redis', 'Redis accepts writes and evicts no keys');
  } catch (error) {
    if (!isTurnfoldError(error, 'incompatible_store')) throw error;
    return findWrong(
      'redis',
      `${error.code}: ${error.message}`,
      'Run CONFIG SET maxmemory-policy noeviction, and set the same in the Redis configuration file.',
    );
  }
}

/** A worker that runs as many jobs as its concurrency allows is healthy, even if further jobs wait. */
async function checkIntake(
  wakes: CheckedParts['wakes'],
  { intakes }: CheckedParts['workers'],
  stuckMs: number,
): Promise<Finding> {
  const name = 'intake';
  const idle = intakes.filter(({ couldTakeMore, idleMs }) => couldTakeMore && idleMs > stuckMs);
  if (idle.length === 0) return findOk(name, 'this worker takes jobs');
  const waits = await wakes.readShardWaits();
  const left = waits.find(
    ({ queue, shard, waitMs = 0 }) =>
      waitMs > stuckMs && idle.some((intake) => intake.queue === queue && intake.shard === shard),
  );
  if (left?.waitMs === undefined) return findOk(name, 'no job waits for this worker');
  return findWrong(
    name,
    `a job of the queue ${left.queue} has waited ${Math.round(left.waitMs / 1_000)} s, though this worker has free capacity`,
    'Resume the queue if turnfold doctor reports it as paused. Otherwise restart the worker.',
  );
}
