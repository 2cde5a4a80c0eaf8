import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { inject, onTestFinished, type TestContext } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { openQueueWorkers, type QueueWorkers, type QueueWorkersOptions } from '../../src/jobs/bullmq/queue-workers.ts';
import { type OpenWakeQueue, openWakeQueue } from '../../src/jobs/bullmq/wake-queue.ts';
import type { SummarizationHandler, TurnHandler } from '../../src/jobs/ports.ts';
import { type QueueName, queuePrefix } from '../../src/jobs/queues.ts';

export interface Fixture {
  readonly url: string;
  readonly shards: number;
  readonly prefix: string;
  readonly errors: { readonly error: unknown; readonly where: string }[];
  /** Jobs that a worker removed because their data cannot be read. */
  readonly drops: { readonly queue: string; readonly job: string; readonly error: unknown }[];
  /** Queues whose jobs were taken back from a dead worker. */
  readonly reclaims: string[];
  openWakes(options?: { failsFast?: boolean }): OpenWakeQueue;
  openWorkers(roles: QueueWorkersOptions['roles'], options?: { deadlineMs?: number }): QueueWorkers;
  /** Opens a connection that is closed at the end of the test. */
  connect(): Redis;
  /** Opens a queue of BullMQ itself, for operations that turnfold never does. */
  openRaw(name: QueueName, shard?: number): Queue;
}

/** Opens queues for one test. They are closed and removed at its end. */
export function useFixture({ url = inject('redisUrl'), shards = 1 } = {}): Fixture {
  const prefix = `test-${randomUUID()}`;
  const errors: Fixture['errors'] = [];
  const drops: Fixture['drops'] = [];
  const reclaims: string[] = [];
  const shared = {
    url,
    shards,
    prefix,
    onError: (error: unknown, where: string) => void errors.push({ error, where }),
  };
  // A Redis that only this test uses is removed with the test. Hooks run in reverse order, so the keys are removed
  // last.
  if (url === inject('redisUrl')) onTestFinished(() => removeKeys(url, `{${prefix}/tq*}:*`));
  return {
    ...shared,
    errors,
    drops,
    reclaims,
    openWakes(options) {
      const wakes = openWakeQueue({ ...shared, ...options });
      onTestFinished(() => wakes.close());
      return wakes;
    },
    openWorkers(roles, { deadlineMs = 5_000 } = {}) {
      const workers = openQueueWorkers({
        ...shared,
        roles,
        deadlineMs,
        onReclaim: (queue) => void reclaims.push(queue),
        onDrop: (queue, job, error) => void drops.push({ queue, job, error }),
      });
      onTestFinished(async () => void (await workers.close()));
      return workers;
    },
    connect() {
      const redis = new Redis(url);
      onTestFinished(() => redis.disconnect());
      return redis;
    },
    openRaw(name, shard = 0) {
      const connection = new Redis(url, { maxRetriesPerRequest: null });
      const queue = new Queue(name, { connection, prefix: queuePrefix(shard, prefix) });
      onTestFinished(async () => {
        await queue.close();
        connection.disconnect();
      });
      return queue;
    },
  };
}

async function removeKeys(url: string, pattern: string): Promise<void> {
  const redis = new Redis(url);
  for await (const keys of redis.scanStream({ match: pattern, count: 1_000 }) as AsyncIterable<string[]>) {
    if (keys.length > 0) await redis.unlink(...keys);
  }
  redis.disconnect();
}

/** Starts a Redis that the test may stop and kill. Skips the test if no Redis process can be started. */
export async function startOwnRedis(
  context: TestContext,
  serverArgs: string[] = [],
): Promise<{ url: string; pid: number }> {
  const redis = await provideRedis({ sources: ['path', 'package'], serverArgs }).catch((error: Error) => error);
  if (redis instanceof Error) return context.skip(redis.message);
  onTestFinished(() => redis.stop());
  return { url: redis.url, pid: pidOf(redis) };
}

function pidOf(redis: LocalRedis): number {
  if (redis.pid === undefined) throw new Error('not a process of this machine');
  return redis.pid;
}

/** Stops the server's process (SIGSTOP) until the returned function is called, or until the end of the test. */
export function freeze(pid: number): () => void {
  process.kill(pid, 'SIGSTOP');
  const thaw = (): void => void process.kill(pid, 'SIGCONT');
  onTestFinished(thaw);
  return thaw;
}

/** A worker role for turns, with `work` as its job handler. */
export function turnRole(work: (ref: ConversationRef) => unknown = () => undefined, concurrency = 1) {
  const handler: TurnHandler = async (ref) => {
    await work(ref);
    return { status: 'done' };
  };
  return { turn: { handler, concurrency } };
}

export function conversation(id: string): ConversationRef {
  return { tenant: '_', id };
}

/** A child job as a compaction pass describes it. */
export function childOf(passId: string, index: number, child = `s-${passId}-${index}`) {
  return {
    child,
    conversation: conversation('c1'),
    passId,
    sequence: { from: index * 10 + 1, to: index * 10 + 9, tokens: 500, maxTokens: 250, userTokens: 0 },
    hash: index.toString(16).padStart(16, '0'),
  };
}

export const writesSummary: SummarizationHandler = () => Promise.resolve({ status: 'ended', outcome: 'written' });

/** Counts all jobs that are left, in any state. */
export async function countAll(wakes: OpenWakeQueue): Promise<number> {
  return (await wakes.countJobs()).reduce((sum, { count }) => sum + count, 0);
}
