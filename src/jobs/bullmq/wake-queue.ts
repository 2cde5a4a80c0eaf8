import { once } from 'node:events';
import { TurnfoldError } from '../../domain/errors.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { nameRedisError } from '../../store/redis/errors.ts';
import type { WakeQueue } from '../ports.ts';
import { DEFAULT_PRIORITY, QUEUES } from '../queues.ts';
import { DueWakes } from './due-wakes.ts';
import { JobEraser } from './erased-jobs.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import {
  countJobs,
  type InboxReport,
  type QueueHour,
  type QueueReport,
  readHour,
  reportInbox,
  reportQueues,
  type StateCount,
} from './queue-reports.ts';
import { describeWakeJob, jobIdOf, QueueSet, WAKE_JOBS } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

export interface WakeQueueOptions extends RedisLocation {
  readonly shards: number;
  readonly onError: QueueErrorListener;
  /** For clients: every call ends within a second, and throws `redis_unavailable` if Redis does not answer. */
  readonly failsFast?: boolean;
}

export interface OpenWakeQueue extends WakeQueue {
  countJobs(): Promise<StateCount[]>;
  readShardWaits(): Promise<ShardWait[]>;
  reportQueues(): Promise<QueueReport[]>;
  readHour(): Promise<QueueHour[]>;
  reportInbox(): Promise<InboxReport>;
  /** Waits at most a second for the first connect. Without it, calls of `listQueues` may fail. */
  connect(): Promise<void>;
  listQueues(): BoardQueue[];
  close(): Promise<void>;
}

/** The type of BullMQ's queue stays in this room. */
export interface BoardQueue {
  readonly shard: number;
  readonly queue: object;
}

/** Such a wake will still be delivered. The worker of an active one may be dead. */
const PENDING_STATES: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed']);

/** The caller needs the rest of its second for other work. A wake that arrives later does no harm. */
const FAIL_FAST_MS = 900;
/** A report is slow because Redis lists all its clients for each shard. An erase reads all jobs that wait. */
const REPORT_MS = 10_000;

/** Calls throw `redis_full` if Redis is full, and with `failsFast` `redis_unavailable` if it does not answer. */
export function openWakeQueue(options: WakeQueueOptions): OpenWakeQueue {
  const { shards, prefix, onError, failsFast = false } = options;
  const connection = openQueueConnection(options);
  const queues = new QueueSet({ connection, names: Object.values(QUEUES), shards, prefix, onError, failsFast });
  const dueWakes = new DueWakes(connection);
  const eraser = new JobEraser({ connection, prefix }, queues, dueWakes);
  const call = failsFast ? callWithinBudget : callNamed;
  return {
    wake(kind, conversation, wake, { priority = WAKE_JOBS[kind].priority, traceParent } = {}) {
      const queue = queues.of(WAKE_JOBS[kind].queue, conversation);
      return call(connection, async () => {
        const mayBeDue = kind === 'turn' && priority === DEFAULT_PRIORITY;
        if (mayBeDue && (await dueWakes.put(queue, { conversation, wake }))) return;
        const { name, data, opts } = describeWakeJob({ kind, conversation, wake, priority, traceParent });
        await queue.add(name, data, opts);
      });
    },
    isPending(kind, conversation, wake) {
      return call(connection, async () => {
        const queue = queues.of(WAKE_JOBS[kind].queue, conversation);
        const isDue = kind === 'turn' && (await dueWakes.has(queue, { conversation, wake }));
        if (!isDue && !PENDING_STATES.has(await queue.getJobState(jobIdOf(wake)))) return false;
        // Idle workers wait for this marker. The worker that removed it may have died, and others would notice the job
        // only after seconds. An error is ignored, because the answer is known.
        await connection.zadd(queue.toKey('marker'), 0, '0').catch(() => undefined);
        return true;
      });
    },
    async eraseJobs(...erased) {
      // A Redis that is away is noticed as fast as by other calls.
      await callWithinBudget(connection, () => connection.ping());
      await callWithinBudget(connection, () => eraser.erase(...erased), REPORT_MS);
    },
    countJobs: () => callWithinBudget(connection, () => countJobs(queues, dueWakes)),
    readShardWaits: () => callWithinBudget(connection, () => readShardWaits(queues, connection, dueWakes)),
    reportQueues: () => callWithinBudget(connection, () => reportQueues(queues, connection, dueWakes), REPORT_MS),
    readHour: () => callWithinBudget(connection, () => readHour(queues, Date.now())),
    reportInbox: () => callWithinBudget(connection, () => reportInbox({ connection, prefix, onError }), REPORT_MS),
    connect: () => callWithinBudget(connection, async () => undefined),
    listQueues: () => [...queues.entries()].flatMap(([, all]) => all.map((queue, shard) => ({ shard, queue }))),
    async close() {
      await queues.close();
      connection.disconnectAll();
    },
  };
}

type Call = <T>(connection: QueueConnection, run: () => Promise<T>) => Promise<T>;

const callNamed: Call = async (_connection, run) => {
  try {
    return await run();
  } catch (error) {
    throw nameRedisError(error);
  }
};

/** The budget includes the first connect, but a lost connection fails the call at once. */
async function callWithinBudget<T>(
  connection: QueueConnection,
  run: () => Promise<T>,
  budgetMs = FAIL_FAST_MS,
): Promise<T> {
  const budget = new AbortController();
  const { promise: end, reject } = Promise.withResolvers<never>();
  // `AbortSignal.timeout` cannot be stopped. It would abort after each call, and cost more than the call.
  const timer = setTimeout(() => {
    budget.abort();
    reject(budget.signal.reason);
  }, budgetMs);
  try {
    return await Promise.race([connectAndRun(connection, run, budget.signal), end]);
  } catch (error) {
    if (!budget.signal.aborted) throw nameRedisError(error);
    throw new TurnfoldError(
      'redis_unavailable',
      `Redis did not answer within ${budgetMs} ms. Check that Redis is running and reachable, then retry`,
    );
  } finally {
    clearTimeout(timer);
  }
}

async function connectAndRun<T>(connection: QueueConnection, run: () => Promise<T>, budget: AbortSignal): Promise<T> {
  if (connection.status === 'connecting' || connection.status === 'connect') {
    await once(connection, 'ready', { signal: budget });
  }
  return await run();
}
