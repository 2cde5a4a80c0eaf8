import { Queue, Worker } from 'bullmq';
import { type OpenClient, openClient } from '../src/client/index.ts';
import type { Agent } from '../src/domain/agent.ts';
import { scriptedModel } from '../src/models/scripted.ts';
import { startWorkers, type WorkersOptions } from '../src/runtime/start-workers.ts';
import { CpuMeter, type CpuUse } from './cpu-meter.ts';
import { openBenchRedis } from './redis.ts';
import { describeSpread, spreadOf } from './spread.ts';

const CONVERSATIONS = 2_000;
const TURNS_EACH = 10;
const JOBS = CONVERSATIONS * TURNS_EACH;
const RUNS = 3;
const CONCURRENCY = 50;
const IN_FLIGHT = 200;
const LONGEST_RUN_MS = 180_000;

const noOpAgent: Agent = {
  name: 'no-op',
  system: 'Answer.',
  tools: [],
  policy: { retentionWindow: 6 },
  model: scriptedModel({ decide: () => ({ content: 'done' }) }),
};

/**
 * Compares turns per second with raw BullMQ jobs per second. Turns are timed from the first acceptance to the last
 * settlement, jobs from the first add to the last completion. Both use the same Redis (AOF everysec), process and
 * concurrency, and alternate.
 */
async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const meter = await CpuMeter.open(redis.url);
  try {
    const pairs: { turns: number; jobs: number; ratio: number; turnCpu: CpuUse; jobCpu: CpuUse }[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await meter.read();
      const jobs = await measureJobs(redis.url, `raw-${run}`);
      const jobCpu = await meter.read();
      const turns = await measureTurns(redis.url, run);
      const turnCpu = await meter.read();
      pairs.push({ turns, jobs, ratio: turns / jobs, turnCpu, jobCpu });
      process.stderr.write(
        `run ${run + 1}: ${turns.toFixed(0)} turns/s, ${jobs.toFixed(0)} jobs/s, ratio ${(turns / jobs).toFixed(2)}\n`,
      );
    }
    const turns = spreadOf(pairs.map((pair) => pair.turns));
    const jobs = spreadOf(pairs.map((pair) => pair.jobs));
    const ratio = spreadOf(pairs.map((pair) => pair.ratio));
    const cpu = {
      turn: describeCpu(pairs.map((pair) => pair.turnCpu)),
      job: describeCpu(pairs.map((pair) => pair.jobCpu)),
    };
    if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ turns, jobs, ratio, cpu })}\n`);
    else {
      process.stdout.write(`${CONVERSATIONS} conversations × ${TURNS_EACH} no-op turns, ${redis.description}\n`);
      process.stdout.write(`turnfold  ${describeSpread(turns, 0)} turns/s, CPU a turn ${cpu.turn}\n`);
      process.stdout.write(`bullmq    ${describeSpread(jobs, 0)} jobs/s, CPU a job ${cpu.job}\n`);
      process.stdout.write(`ratio     ${describeSpread(ratio)}\n`);
    }
  } finally {
    meter.close();
    await redis.stop();
  }
}

function describeCpu(uses: readonly CpuUse[]): string {
  const micros = (values: readonly number[]): string =>
    describeSpread(spreadOf(values.map((ms) => (ms * 1_000) / JOBS)), 0);
  return `${micros(uses.map((use) => use.nodeMs))} µs in Node, ${micros(uses.map((use) => use.redisMs))} µs in Redis`;
}

async function measureJobs(url: string, name: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let done = 0;
  const connection = { url };
  const queue = new Queue(name, { connection });
  const worker = new Worker(
    name,
    async () => {
      done += 1;
      if (done === JOBS) resolve();
    },
    { connection, concurrency: CONCURRENCY, removeOnComplete: { count: 0 } },
  );
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  const startedAt = performance.now();
  await runInFlight(JOBS, (index) => queue.add('no-op', { index }, { removeOnComplete: true }));
  await bounded(promise);
  const perSecond = JOBS / ((performance.now() - startedAt) / 1_000);
  await worker.close();
  await queue.close();
  return perSecond;
}

async function measureTurns(redisUrl: string, run: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let settled = 0;
  const options: WorkersOptions = {
    redisUrl,
    agents: [noOpAgent],
    roles: ['turn', 'compaction', 'summarization'],
    shards: 256,
    queueShards: 1,
    concurrency: { turn: CONCURRENCY, compaction: 10, summarization: 10 },
    shutdownMs: 10_000,
    onEvent: (event) => {
      if (event.type !== 'turn_settled') return;
      settled += 1;
      if (settled === JOBS) resolve();
    },
  };
  const workers = await startWorkers(options);
  const client = await openClient({ redisUrl });
  const startedAt = performance.now();
  await runInFlight(JOBS, (index) => enqueue(client, `r${run}-${index % CONVERSATIONS}`, index));
  await bounded(promise);
  const perSecond = JOBS / ((performance.now() - startedAt) / 1_000);
  await client.close();
  await workers.close();
  return perSecond;
}

async function enqueue(client: OpenClient, conversation: string, index: number): Promise<void> {
  await client.enqueueTurn({ conversation, agent: noOpAgent.name, input: `turn ${index}` });
}

/** Runs `count` calls, with a limit on the number in flight. */
async function runInFlight(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await call(index);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function bounded(done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${LONGEST_RUN_MS} ms`)), LONGEST_RUN_MS);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}

await main();
