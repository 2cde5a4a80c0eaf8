import { isTurnfoldError } from '../domain/errors.ts';
import type { QueueWorkers } from '../queue/queue-workers.ts';
import type { OpenWakeQueue } from '../queue/wake-queue.ts';
import type { ConnectedStore } from '../store/connect-store.ts';
import type { EventLoopMonitor } from './event-loop-monitor.ts';
import { type Finding, findOk, findWrong } from './finding.ts';
import type { Check } from './readiness.ts';

export interface CheckedParts {
  readonly checkServer: ConnectedStore['checkServer'];
  readonly wakes: Pick<OpenWakeQueue, 'readShardWaits'>;
  readonly workers: Pick<QueueWorkers, 'isRunning' | 'intakes'>;
  readonly loop: Pick<EventLoopMonitor, 'worstMs'>;
  /** How long a job may wait for this worker, in ms. */
  readonly stuckMs: number;
}

/** Half of a lease, so two heartbeats were missed. */
const BLOCKED_MS = 4_000;

/** Conditions for the readiness of a worker. */
export function listWorkerChecks({ checkServer, wakes, workers, loop, stuckMs }: CheckedParts): Check[] {
  return [
    {
      name: 'redis',
      run: () => lookAtRedis(checkServer),
      remedy: 'Look at Redis and at the way to it; the worker goes on by itself when it is back.',
    },
    {
      name: 'queues',
      run: () =>
        workers.isRunning()
          ? findOk('queues', 'its queue workers are running')
          : findWrong('queues', 'its queue workers are not running', 'Its log says why. Restart it.'),
      remedy: 'Restart it.',
    },
    {
      name: 'intake',
      run: () => lookAtIntake(wakes, workers, stuckMs),
      remedy: 'Look at Redis: how long work has waited cannot be read.',
    },
    {
      name: 'event loop',
      run: () =>
        loop.worstMs < BLOCKED_MS
          ? findOk('event loop', `held for ${Math.round(loop.worstMs)} ms at most in the last ten seconds`)
          : findWrong(
              'event loop',
              `held for ${Math.round(loop.worstMs)} ms: leases are lost so`,
              'Look for tools that compute for long, and for a machine without CPU to give.',
            ),
      remedy: 'Restart it.',
    },
  ];
}

async function lookAtRedis(checkServer: CheckedParts['checkServer']): Promise<Finding> {
  try {
    await checkServer();
    return findOk('redis', 'it takes writes, and throws nothing away');
  } catch (error) {
    if (!isTurnfoldError(error, 'incompatible_store')) throw error;
    return findWrong(
      'redis',
      `${error.code}: ${error.message}`,
      'CONFIG SET maxmemory-policy noeviction, and the same in its configuration.',
    );
  }
}

/** Full concurrency is no fault: more workers help then. */
async function lookAtIntake(
  wakes: CheckedParts['wakes'],
  { intakes }: CheckedParts['workers'],
  stuckMs: number,
): Promise<Finding> {
  const name = 'intake';
  const idle = intakes.filter(({ couldTakeMore, idleMs }) => couldTakeMore && idleMs > stuckMs);
  if (idle.length === 0) return findOk(name, 'it takes what comes');
  const waits = await wakes.readShardWaits();
  const left = waits.find(
    ({ queue, shard, waitMs = 0 }) =>
      waitMs > stuckMs && idle.some((intake) => intake.queue === queue && intake.shard === shard),
  );
  if (left?.waitMs === undefined) return findOk(name, 'nothing waits for it');
  return findWrong(
    name,
    `a job of the queue ${left.queue} has waited for ${Math.round(left.waitMs / 1_000)} s, and this worker could take it`,
    'Resume the queue if it is paused (turnfold doctor says so); else restart the worker.',
  );
}
