import { once } from 'node:events';
import { TurnfoldError } from '../domain/errors.ts';
import type { WakeKind, WakeQueue } from '../domain/ports/queue.ts';
import type { JobDefinition, WakeTask } from '../jobs/job.ts';
import { HIGHEST_PRIORITY, QUEUES } from '../jobs/queues.ts';
import { wakePassJob } from '../jobs/wake-pass.ts';
import { wakeTurnJob } from '../jobs/wake-turn.ts';
import type { RedisLocation } from '../redis/address.ts';
import { nameRedisError } from '../redis/errors.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import { countJobs, type QueueReport, reportQueues, type StateCount } from './queue-reports.ts';
import { QueueSet } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

export interface WakeQueueOptions extends RedisLocation {
  readonly shards: number;
  readonly namespace?: string;
  readonly onError: QueueErrorListener;
  /** For clients: every call ends within a second, with `redis_unavailable` if Redis does not answer. */
  readonly failsFast?: boolean;
}

export interface OpenWakeQueue extends WakeQueue {
  /** Number of jobs by queue and state, for gauges: within a second in any case. */
  countJobs(): Promise<StateCount[]>;
  /** Wait of the oldest job of each shard, for gauges and readiness: within a second in any case. */
  readShardWaits(): Promise<ShardWait[]>;
  /** For doctors, within ten seconds. */
  reportQueues(): Promise<QueueReport[]>;
  close(): Promise<void>;
}

const JOB_OF = { turn: wakeTurnJob, pass: wakePassJob } satisfies Record<WakeKind, JobDefinition<WakeTask>>;

/** A wake in one of these states will be delivered. An active one may belong to a delivery that was lost. */
const PENDING_STATES: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed']);

/** Leaves the rest of a second to the caller. A wake that arrives after this time does no harm. */
const FAIL_FAST_MS = 900;
/** Redis lists all its clients for each shard of a report. */
const REPORT_MS = 10_000;

/** Opens the wake queues for adding. Calls throw `redis_full` and, if they fail fast, `redis_unavailable`. */
export function openWakeQueue(options: WakeQueueOptions): OpenWakeQueue {
  const { shards, namespace, onError, failsFast = false } = options;
  const connection = openQueueConnection(options);
  const queues = new QueueSet({ connection, names: Object.values(QUEUES), shards, namespace, onError, failsFast });
  const call = failsFast ? callWithinBudget : callNamed;
  return {
    wake(kind, conversation, wake, { priority, askedIn } = {}) {
      const job = JOB_OF[kind];
      return call(connection, async () => {
        await queues.of(job.queue, conversation).add(job.name, job.write({ conversation, askedIn }), {
          jobId: jobIdOf(wake),
          priority: Math.max(HIGHEST_PRIORITY, priority ?? job.priority),
          // A finished job would swallow a new wake with the same id.
          removeOnComplete: true,
          removeOnFail: true,
        });
      });
    },
    isPending(kind, conversation, wake) {
      return call(connection, async () => {
        const state = await queues.of(JOB_OF[kind].queue, conversation).getJobState(jobIdOf(wake));
        return PENDING_STATES.has(state);
      });
    },
    countJobs: () => callWithinBudget(connection, () => countJobs(queues)),
    readShardWaits: () => callWithinBudget(connection, () => readShardWaits(queues, connection)),
    reportQueues: () => callWithinBudget(connection, () => reportQueues(queues, connection), REPORT_MS),
    async close() {
      await queues.close();
      connection.disconnectAll();
    },
  };
}

/** BullMQ refuses an id that has only digits, so ids get a prefix. */
function jobIdOf(wake: string): string {
  return `w-${wake}`;
}

type Call = <T>(connection: QueueConnection, run: () => Promise<T>) => Promise<T>;

const callNamed: Call = async (_connection, run) => {
  try {
    return await run();
  } catch (error) {
    throw nameRedisError(error);
  }
};

/** Waits within the budget for a first connection, but not for a lost one, and then for the answer. */
async function callWithinBudget<T>(
  connection: QueueConnection,
  run: () => Promise<T>,
  budgetMs = FAIL_FAST_MS,
): Promise<T> {
  const budget = AbortSignal.timeout(budgetMs);
  try {
    return await Promise.race([connectAndRun(connection, run, budget), rejectAfter(budget)]);
  } catch (error) {
    if (!budget.aborted) throw nameRedisError(error);
    throw new TurnfoldError('redis_unavailable', `Redis did not answer within ${budgetMs} ms`);
  }
}

async function connectAndRun<T>(connection: QueueConnection, run: () => Promise<T>, budget: AbortSignal): Promise<T> {
  if (connection.status === 'connecting' || connection.status === 'connect') {
    await once(connection, 'ready', { signal: budget });
  }
  return await run();
}

async function rejectAfter(budget: AbortSignal): Promise<never> {
  await once(budget, 'abort');
  throw budget.reason;
}
