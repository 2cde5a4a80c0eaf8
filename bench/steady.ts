/**
 * Measures what a steady stream of turns costs Redis: `node bench/steady.ts [--rate=46] [--seconds=15] [--runs=3] [--json]`.
 * A caller waits for each turn, whose model answers after 200 ms. Raw jobs of 200 ms alternate with the turns, at the
 * same rate and with as many workers. The cost of idle workers is included. Target: 0.5 ms a turn.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { openClient } from '../src/api/client/index.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { CpuMeter } from './cpu-meter.ts';
import { openBenchRedis } from './redis.ts';
import { describeSpread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '46' },
    seconds: { type: 'string', default: '15' },
    runs: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});
const RATE = Number(values.rate);
const COUNT = RATE * Number(values.seconds);
const WORKERS = 4;
const CONVERSATIONS = 300;
const MODEL_MS = 200;
/** Time in which workers connect and take their leases, in ms. */
const SETTLE_MS = 3_000;
const LONGEST_MS = 30_000;

const agent = {
  name: 'steady',
  system: 'Answer.',
  tools: [],
  policy: {},
  model: scriptedModel({ decide: () => sleep(MODEL_MS, { content: 'done' }) }),
};

interface Cost {
  readonly redisMs: number;
  readonly commands: number;
  readonly bytesOut: number;
}

/** Starts a piece of work at each tick, and returns what one piece cost Redis. */
async function measure(meter: CpuMeter, work: (index: number) => Promise<unknown>): Promise<Cost> {
  await sleep(SETTLE_MS);
  await Promise.all([meter.read(), meter.readWork()]);
  const startedAt = performance.now();
  const begun: Promise<unknown>[] = [];
  for (let index = 0; index < COUNT; index += 1) {
    await sleep(Math.max(0, startedAt + (index * 1_000) / RATE - performance.now()));
    begun.push(work(index));
  }
  await Promise.all(begun);
  const [{ redisMs }, { commands, bytesOut }] = await Promise.all([meter.read(), meter.readWork()]);
  return { redisMs: redisMs / COUNT, commands: commands / COUNT, bytesOut: bytesOut / COUNT };
}

async function measureTurns(redisUrl: string, meter: CpuMeter, run: number): Promise<Cost> {
  await using stack = new AsyncDisposableStack();
  for (let count = 0; count < WORKERS; count += 1) {
    const workers = await startWorkers({ redisUrl, agents: [agent] });
    stack.defer(async () => void (await workers.close()));
  }
  const client = stack.adopt(await openClient({ redisUrl }), (opened) => opened.close());
  return await measure(meter, async (index) => {
    const conversation = `run-${run}-${index % CONVERSATIONS}`;
    const { turn } = await client.enqueueTurn({ conversation, agent: agent.name, input: `turn ${index}` });
    const { state } = await client.result(conversation, turn, { waitMs: LONGEST_MS });
    if (state !== 'completed') throw new Error(`turn ${turn} is ${state}`);
  });
}

async function measureJobs(url: string, meter: CpuMeter): Promise<Cost> {
  await using stack = new AsyncDisposableStack();
  const options = { connection: { url } };
  const queue = stack.adopt(new Queue('raw', options), (opened) => opened.close());
  const ends = new Map<string, () => void>();
  for (let count = 0; count < WORKERS; count += 1) {
    const worker = new Worker('raw', () => sleep(MODEL_MS), { ...options, concurrency: 50 });
    worker.on('completed', ({ id = '' }) => ends.get(id)?.());
    stack.adopt(worker, (opened) => opened.close());
  }
  return await measure(meter, async (index) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(`job-${index}`, resolve);
    await queue.add('no-op', {}, { jobId: `job-${index}`, removeOnComplete: true });
    await promise;
  });
}

const redis = await openBenchRedis();
const meter = await CpuMeter.open(redis.url);
const costs = { job: [] as Cost[], turn: [] as Cost[] };
try {
  for (let run = 0; run < Number(values.runs); run += 1) {
    costs.job.push(await measureJobs(redis.url, meter));
    costs.turn.push(await measureTurns(redis.url, meter, run));
  }
} finally {
  meter.close();
  await redis.stop();
}
const report = Object.entries(costs).map(([kind, all]) => {
  const spread = (name: keyof Cost) => spreadOf(all.map((cost) => cost[name]));
  return { kind, redisMs: spread('redisMs'), commands: spread('commands'), bytesOut: spread('bytesOut') };
});
if (values.json) console.log(JSON.stringify({ rate: RATE, workers: WORKERS, report }));
else {
  console.log(`${RATE} turns or jobs a second, ${WORKERS} workers, ${redis.description}`);
  for (const { kind, redisMs, commands, bytesOut } of report) {
    console.log(
      `a ${kind}: ${describeSpread(redisMs)} ms of Redis, ${describeSpread(commands, 0)} commands, ${describeSpread(bytesOut, 0)} bytes out`,
    );
  }
}
