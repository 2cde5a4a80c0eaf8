import { Queue, Worker } from 'bullmq';
import { CpuMeter } from './cpu-meter.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, spreadOf } from './spread.ts';

const JOBS = sampleSize(3_000, 50);
const PAIRS = sampleSize(14, 1);
const CONCURRENCY = 50;
const MINUTES = 60;

/** CPU time of a job in µs. */
interface JobCost {
  readonly node: number;
  readonly redis: number;
}

/**
 * Compares the CPU time of raw no-op jobs whose minutes BullMQ counts with jobs that are not counted. Both alternate, so
 * that other load on the machine reaches both alike.
 */
async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const meter = await CpuMeter.open(redis.url);
  const counted: JobCost[] = [];
  const plain: JobCost[] = [];
  try {
    await runJobs(redis.url, meter, 'warm-up');
    for (let pair = 0; pair < PAIRS; pair += 1) {
      plain.push(await runJobs(redis.url, meter, `plain-${pair}`));
      counted.push(await runJobs(redis.url, meter, `counted-${pair}`, { maxDataPoints: MINUTES }));
    }
    for (const part of ['node', 'redis'] as const) {
      const [of, without] = [counted, plain].map((costs) =>
        describeSpread(spreadOf(costs.map((cost) => cost[part])), 0),
      );
      process.stdout.write(`${part}: ${of} µs a counted job, ${without} µs without\n`);
    }
  } finally {
    meter.close();
    await redis.stop();
  }
}

async function runJobs(
  url: string,
  meter: CpuMeter,
  name: string,
  metrics?: { readonly maxDataPoints: number },
): Promise<JobCost> {
  const connection = { url, maxRetriesPerRequest: null };
  const queue = new Queue(name, { connection });
  await queue.addBulk(Array.from({ length: JOBS }, () => ({ name, data: {}, opts: { removeOnComplete: true } })));
  await meter.read();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const process = async (): Promise<void> => {
    count += 1;
    if (count === JOBS) resolve();
  };
  const worker = new Worker(name, process, { connection, concurrency: CONCURRENCY, ...(metrics && { metrics }) });
  await ended;
  const { nodeMs, redisMs } = await meter.read();
  await worker.close();
  await queue.close();
  return { node: (1_000 * nodeMs) / JOBS, redis: (1_000 * redisMs) / JOBS };
}

await main();
