import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import type { Agent } from '../src/domain/agent.ts';
import { startWorkers, type WorkersOptions } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { openDatabase } from '../src/store/database.ts';
import { openStore } from '../src/store/open-store.ts';
import { openConnection } from '../src/store/redis/connection.ts';
import type { ClaimedTurn } from '../src/store/turn-record.ts';
import { claimHead, textStep, turnFor } from '../test/store/samples.ts';
import { CpuMeter, type CpuUse, type RedisWork } from './cpu-meter.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  strict: false,
  options: { jobs: { type: 'string', default: String(sampleSize(20_000, 400)) } },
});
/** `--jobs=<n>` sets another number, for a busy machine. */
const JOBS = Number(values.jobs);
/** Turns of each conversation. Most chats have one turn at a time. */
const SHAPES = [10, 1] as const;
const RUNS = sampleSize(3, 1);
const CONCURRENCY = 50;
const SHARDS = 256;
const IN_FLIGHT = 200;
const LONGEST_RUN_MS = 180_000;

const noOpAgent: Agent = {
  name: 'no-op',
  system: 'Answer.',
  tools: [],
  policy: { retentionWindow: 6 },
  model: scriptedModel({ decide: () => ({ content: 'done' }) }),
};

interface Measured {
  readonly perSecond: number;
  readonly cpu: CpuUse;
  readonly work: RedisWork;
}

/**
 * Compares turns per second with raw BullMQ jobs per second, with ten turns a conversation and with one. Turns are timed
 * from the first acceptance to the last settlement, jobs from the first add to the last completion. All use the same Redis
 * (AOF everysec), process and concurrency, and alternate. The store's part of a turn runs alone, too.
 */
async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const meter = await CpuMeter.open(redis.url);
  const measure = async (run: () => Promise<number>): Promise<Measured> => {
    await Promise.all([meter.read(), meter.readWork()]);
    const perSecond = await run();
    return { perSecond, cpu: await meter.read(), work: await meter.readWork() };
  };
  try {
    const jobs: Measured[] = [];
    const calls = new Map<string, Measured[]>();
    const turns = SHAPES.map((): Measured[] => []);
    for (let run = 0; run < RUNS; run += 1) {
      const raw = await measure(() => measureJobs(redis.url, `raw-${run}`));
      jobs.push(raw);
      const store = await openCalls(redis.url, run);
      for (const [name, call] of Object.entries(store.calls)) {
        const measured = await measure(() => measureCall(call));
        calls.set(name, [...(calls.get(name) ?? []), measured]);
      }
      await store.close();
      for (const [index, each] of SHAPES.entries()) {
        const measured = await measure(() => measureTurns(redis.url, { run, each }));
        turns[index]?.push(measured);
        const ratio = (measured.perSecond / raw.perSecond).toFixed(2);
        process.stderr.write(
          `run ${run + 1}, ${each} a conversation: ${measured.perSecond.toFixed(0)} turns/s, ${raw.perSecond.toFixed(0)} jobs/s, ratio ${ratio}\n`,
        );
      }
    }
    const report = SHAPES.map((each, index) => ({ each, ...summarize(turns[index] ?? [], jobs) }));
    if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ turns: report })}\n`);
    else print(redis.description, report, { jobs, calls });
  } finally {
    meter.close();
    await redis.stop();
  }
}

interface Summary {
  readonly each: number;
  readonly turns: Spread;
  readonly jobs: Spread;
  readonly ratio: Spread;
  readonly cpu: string;
  readonly work: string;
}

function summarize(turns: readonly Measured[], jobs: readonly Measured[]): Omit<Summary, 'each'> {
  return {
    turns: spreadOf(turns.map(({ perSecond }) => perSecond)),
    jobs: spreadOf(jobs.map(({ perSecond }) => perSecond)),
    ratio: spreadOf(turns.map(({ perSecond }, run) => perSecond / (jobs[run]?.perSecond ?? 1))),
    cpu: describeCpu(turns),
    work: describeWork(turns),
  };
}

function print(
  description: string,
  report: readonly Summary[],
  { jobs, calls }: { readonly jobs: readonly Measured[]; readonly calls: ReadonlyMap<string, readonly Measured[]> },
): void {
  process.stdout.write(`${JOBS} no-op turns or jobs a run, ${description}\n`);
  for (const { each, turns, ratio, cpu, work } of report) {
    process.stdout.write(
      `turnfold, ${each} a conversation: ${describeSpread(turns, 0)} turns/s, ratio ${describeSpread(ratio)}\n  ${cpu}\n  ${work}\n`,
    );
  }
  const show = (name: string, measured: readonly Measured[]): void => {
    const perSecond = describeSpread(spreadOf(measured.map((one) => one.perSecond)), 0);
    process.stdout.write(`${name}: ${perSecond} a second\n  ${describeCpu(measured)}\n  ${describeWork(measured)}\n`);
  };
  for (const [name, measured] of calls) show(`${name}, without a queue`, measured);
  show('bullmq jobs', jobs);
}

function describeCpu(measured: readonly Measured[]): string {
  const micros = (read: (use: CpuUse) => number): string =>
    describeSpread(spreadOf(measured.map(({ cpu }) => (read(cpu) * 1_000) / JOBS)), 0);
  return `${micros(({ nodeMs }) => nodeMs)} µs in Node, ${micros(({ redisMs }) => redisMs)} µs in Redis`;
}

function describeWork(measured: readonly Measured[]): string {
  const each = (name: keyof RedisWork, digits: number): string =>
    describeSpread(spreadOf(measured.map(({ work }) => work[name] / JOBS)), digits);
  return `${each('commands', 1)} commands, ${each('scripts', 2)} scripts, ${each('bytesIn', 0)} bytes in, ${each('bytesOut', 0)} bytes out, ${each('commandMicros', 0)} µs in commands`;
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

/**
 * Opens the calls of the store for a turn. They run one after the other for all turns. No wake could be cheaper than none. The
 * first three have one turn a conversation. In the last, each conversation has a second turn.
 */
async function openCalls(url: string, run: number) {
  const redis = openConnection({ url });
  const { keyspace } = await openDatabase(redis, { shards: SHARDS });
  const store = openStore(redis, keyspace);
  const conversationOf = (index: number) => ({ tenant: '_', id: `s${run}-${index}` });
  const claimed: ClaimedTurn[] = [];
  const settle = async (index: number, { lease, conversation: { head } }: ClaimedTurn): Promise<void> => {
    const step = textStep('model-1', head);
    const reply = await store.settle(lease, { state: 'completed', answerSeq: head + 1, step }, undefined);
    if (reply.status === 'settled' && reply.next !== undefined) claimed[index] = reply.next;
  };
  const accept = async (index: number, turn: string): Promise<void> =>
    void (await store.accept(turnFor(conversationOf(index), turn)));
  const claim = async (index: number): Promise<void> => {
    claimed[index] = await claimHead(store, conversationOf(index));
  };
  const settleNext = async (index: number): Promise<void> => await settle(index, claimed[index] as ClaimedTurn);
  return {
    calls: {
      'accept, first turn of a conversation': (index: number) => accept(index, 't1'),
      'claim of a waiting turn': claim,
      'last step and settlement': settleNext,
      'accept, second turn of a conversation': (index: number) => accept(index, 't2'),
      'accept, third turn, behind the second': (index: number) => accept(index, 't3'),
      'claim behind one turn': claim,
      'last step, settlement and claim of the next turn': settleNext,
    },
    /** Removes the turns, which workers would continue otherwise. */
    close: async (): Promise<void> => {
      await redis.flushdb();
      redis.disconnect();
    },
  };
}

async function measureCall(call: (index: number) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await runInFlight(JOBS, call, CONCURRENCY);
  return JOBS / ((performance.now() - startedAt) / 1_000);
}

async function measureTurns(redisUrl: string, { run, each }: { run: number; each: number }): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let settled = 0;
  const options: WorkersOptions = {
    redisUrl,
    agents: [noOpAgent],
    roles: ['turn', 'compaction', 'summarization'],
    shards: SHARDS,
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
  await runInFlight(JOBS, (index) => enqueue(client, `r${run}-${each}-${index % (JOBS / each)}`, index));
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
async function runInFlight(count: number, call: (index: number) => Promise<unknown>, limit = IN_FLIGHT): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await call(index);
    }
  };
  await Promise.all(Array.from({ length: limit }, lane));
}

async function bounded(done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${LONGEST_RUN_MS} ms`)), LONGEST_RUN_MS);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}

await main();
