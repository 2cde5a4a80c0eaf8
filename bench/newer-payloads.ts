/**
 * Measures the latency of a job alone, then behind many jobs with a newer data format, then while those are retried.
 */
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { openQueueWorkers } from '../src/jobs/bullmq/queue-workers.ts';
import { openWakeQueue } from '../src/jobs/bullmq/wake-queue.ts';
import { PAYLOAD_VERSION } from '../src/jobs/job.ts';
import type { TurnHandler } from '../src/jobs/ports.ts';
import { DEFAULT_PRIORITY, queuePrefix } from '../src/jobs/queues.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { spreadOf } from './spread.ts';

const given = process.argv.find((argument) => argument.startsWith('--jobs='))?.slice('--jobs='.length);
const JOBS = Number(given ?? sampleSize(5_000, 50));
/** Jobs with a newer format are retried after 1, 2, 4 … 32 s. */
const RETRIED_MS = sampleSize(10_000, 1_000);
const BEFORE_MS = 2_000;

const server = await openBenchRedis();
const connection = new Redis(server.url, { maxRetriesPerRequest: null });
const queue = new Queue('turn', { connection, prefix: queuePrefix(0) });
const onError = (error: unknown): void => console.error(error);
const wakes = openWakeQueue({ url: server.url, shards: 1, onError });
const taken = new Map<string, () => void>();
const handler: TurnHandler = async ({ id }) => {
  taken.get(id)?.();
  return { status: 'done' };
};
const workers = openQueueWorkers({
  url: server.url,
  shards: 1,
  roles: { turn: { handler, concurrency: 10 } },
  deadlineMs: 5_000,
  onError,
  onReclaim: () => undefined,
  onDrop: (_queue, job, error) => console.error(job, error),
});

let turns = 0;
async function measureWait(): Promise<number> {
  turns += 1;
  const id = `c${turns}`;
  const { promise, resolve } = Promise.withResolvers<void>();
  taken.set(id, resolve);
  const startMs = performance.now();
  await wakes.wake('turn', { tenant: '_', id }, `w-${id}`);
  await promise;
  return performance.now() - startMs;
}

async function measureFor(ms: number): Promise<string> {
  const waits: number[] = [];
  for (const endMs = performance.now() + ms; performance.now() < endMs; ) waits.push(await measureWait());
  const { median, max } = spreadOf(waits);
  return `${waits.length} turns, median ${median} ms, max ${max} ms`;
}

await workers.start();
console.log(`alone: ${await measureFor(BEFORE_MS)}`);
const data = { v: PAYLOAD_VERSION + 1, who: ['_', 'newer'] };
const opts = { priority: DEFAULT_PRIORITY, removeOnComplete: true };
await queue.addBulk(Array.from({ length: JOBS }, () => ({ name: 'turn', data, opts })));
console.log(`behind ${JOBS} newer jobs, seen for the first time: ${(await measureWait()).toFixed(0)} ms`);
console.log(`while these are retried: ${await measureFor(RETRIED_MS)}`);
const left = await queue.getJobCounts('delayed', 'prioritized', 'active');
console.log(`newer jobs left: ${JSON.stringify(left)}`);

await workers.close();
await wakes.close();
await queue.close();
connection.disconnect();
await server.stop();
