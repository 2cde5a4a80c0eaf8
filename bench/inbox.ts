/**
 * Measures the inbox: `node bench/inbox.ts [--runs 5] [--jobs 3000]`. In each run, `queue.addBulk` adds jobs to it, and then
 * one worker moves them into mailboxes. No turn is answered, because the process has no turn worker.
 */
import { parseArgs } from 'node:util';
import { Queue } from 'bullmq';
import { openClient } from '../src/api/client/index.ts';
import { readTurnJob } from '../src/api/inbox/turn-job.ts';
import { openQueueWorkers } from '../src/jobs/bullmq/queue-workers.ts';
import { INBOX_QUEUE, queuePrefix } from '../src/jobs/queues.ts';
import { openBenchRedis } from './redis.ts';
import { describeSpread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    jobs: { type: 'string', default: '3000' },
  },
});
const [runs, jobs] = [values.runs, values.jobs].map(Number) as [number, number];
/** As in `host/start-workers.ts`. */
const CONCURRENCY = 8;

const redis = await openBenchRedis();
const client = await openClient({ redisUrl: redis.url });
const { hostname: host, port } = new URL(redis.url);
const queue = new Queue(INBOX_QUEUE, { connection: { host, port: Number(port) }, prefix: queuePrefix(0) });

/** Moves the jobs of the queue. @returns jobs per second, and ms of CPU time of this process for each job */
async function move(): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
  const all = Promise.withResolvers<void>();
  let moved = 0;
  const workers = openQueueWorkers({
    url: redis.url,
    shards: 1,
    roles: {
      inbox: { handler: async (job) => await client.enqueueTurn(readTurnJob(job)), concurrency: CONCURRENCY },
    },
    onTaken: () => {
      moved += 1;
      if (moved === jobs) all.resolve();
    },
    onError: (error) => all.reject(error),
    deadlineMs: 5_000,
  });
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  await workers.start();
  await all.promise;
  const perSecond = (jobs / (performance.now() - startedAt)) * 1_000;
  const { user, system } = process.cpuUsage(cpu);
  await workers.close();
  return { perSecond, cpuMs: (user + system) / 1_000 / jobs };
}

const results: { readonly perSecond: number; readonly cpuMs: number }[] = [];
for (let run = 0; run < runs; run += 1) {
  const data = (at: number) => ({ conversation: `c${run}-${at}`, agent: 'clerk', input: 'Where is order 4711?' });
  await queue.addBulk(Array.from({ length: jobs }, (_, at) => ({ name: 'turn', data: data(at) })));
  results.push(await move());
}
console.log(`moved by one worker: ${describeSpread(spreadOf(results.map(({ perSecond }) => perSecond)))} jobs/s`);
console.log(`CPU of the worker: ${describeSpread(spreadOf(results.map(({ cpuMs }) => cpuMs)))} ms a job`);
await queue.close();
await client.close();
await redis.stop();
