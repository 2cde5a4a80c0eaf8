import { once } from 'node:events';
import { TurnfoldError } from '../domain/errors.ts';
import type { WakeKind, WakeQueue } from '../domain/ports/queue.ts';
import { DEFAULT_PRIORITY, HIGHEST_PRIORITY, QUEUES, type QueueName } from '../jobs/names.ts';
import { wakePayload } from '../jobs/payloads.ts';
import type { RedisLocation } from '../redis/address.ts';
import { nameRedisError } from '../redis/errors.ts';
import { countJobs, type StateCount } from './job-counts.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import { type QueueReport, reportQueues } from './queue-reports.ts';
import { QueueSet } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

export interface WakeQueueOptions extends RedisLocation {
  readonly shards: number;
  readonly namespace?: string;
  readonly onError: QueueErrorListener;
  /** for clients: every call ends within a second, with `redis_unavailable` where Redis does not answer */
  readonly failsFast?: boolean;
}

export interface OpenWakeQueue extends WakeQueue {
  /** for gauges, so within a second in any case: how many jobs there are, by queue and state */
  countJobs(): Promise<StateCount[]>;
  /** for gauges and readiness, so within a second, too: how long the job that has waited longest has */
  readShardWaits(): Promise<ShardWait[]>;
  /** for doctors, within ten seconds */
  reportQueues(): Promise<QueueReport[]>;
  close(): Promise<void>;
}

const QUEUE_OF: Readonly<Record<WakeKind, QueueName>> = { turn: QUEUES.turn, pass: QUEUES.compaction };

/** A wake that is in one of these will be delivered. An active one may be the very delivery that was lost. */
const PENDING_STATES: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed']);

/** An answer later than this is none; the rest of a second is for the caller. A wake that arrives late does no harm. */
const FAIL_FAST_MS = 900;
/** A person waits for a report, and for each shard Redis lists all its clients. */
const REPORT_MS = 10_000;

/** Opens the adding side of the wake queues. Calls throw `redis_full` and, where they fail fast, `redis_unavailable`. */
export function openWakeQueue(options: WakeQueueOptions): OpenWakeQueue {
  const { shards, namespace, onError, failsFast = false } = options;
  const connection = openQueueConnection(options);
  const queues = new QueueSet({ connection, names: Object.values(QUEUES), shards, namespace, onError, failsFast });
  const call = failsFast ? callWithinBudget : callNamed;
  return {
    wake(kind, conversation, wake, { priority = DEFAULT_PRIORITY, askedIn } = {}) {
      return call(connection, async () => {
        await queues.of(QUEUE_OF[kind], conversation).add(kind, wakePayload(conversation, askedIn), {
          jobId: jobIdOf(wake),
          priority: Math.max(HIGHEST_PRIORITY, priority),
          // A finished job would swallow a wake of its id. Ids are fresh, but nobody reads finished wakes either.
          removeOnComplete: true,
          removeOnFail: true,
        });
      });
    },
    isPending(kind, conversation, wake) {
      return call(connection, async () => {
        const state = await queues.of(QUEUE_OF[kind], conversation).getJobState(jobIdOf(wake));
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

/** BullMQ refuses ids of digits only; with the prefix there are none. */
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

/** Waits for a connection that is being made, not for one that was lost, and for the answer: together within the budget. */
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
    throw new TurnfoldError('redis_unavailable', `Redis does not answer: there was no answer within ${budgetMs} ms`);
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
