/**
 * Measures what a streamed chunk of an answer costs a worker while many answers are in flight: `node bench/chunks.ts
 * [--turns 1000] [--chunks-per-second 10] [--seconds 20] [--runs 3] [--json]`. The provider is a process of its own. No
 * client reads the streams. The figures cover everything that the worker does meanwhile, such as its heartbeats.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openClient } from '../src/api/client/index.ts';
import { BenchProcess } from './bench-process.ts';
import { CpuMeter } from './cpu-meter.ts';
import { openBenchRedis } from './redis.ts';
import { describeSpread, type Percentiles, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    turns: { type: 'string', default: '1000' },
    'chunks-per-second': { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    runs: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const [turns, perSecond, seconds, runs] = [values.turns, values['chunks-per-second'], values.seconds, values.runs].map(
  Number,
) as [number, number, number, number];

/** Seconds in which all turns have to start, at most. */
const START_SECONDS = 60;
const LOOK_MS = 200;

interface Run {
  readonly chunksPerSecond: number;
  /** CPU time of the worker and of Redis in µs for each chunk. */
  readonly workerUs: number;
  readonly redisUs: number;
  /** How late timers of the worker fired, and how long the worker's thread computed between two of them, in ms. */
  readonly late: Percentiles;
  readonly held: Percentiles;
}

async function measure(): Promise<Run> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const tokens = String((START_SECONDS + seconds) * perSecond);
  const provider = stack.use(await BenchProcess.start(['paced', tokens, String(1_000 / perSecond)]));
  const worker = stack.use(await BenchProcess.start(['worker', redis.url, provider.url, '1', String(turns)]));
  const meter = stack.adopt(await CpuMeter.open(redis.url), (open) => open.close());
  const client = stack.adopt(await openClient({ redisUrl: redis.url }), (open) => open.close());
  for (let turn = 0; turn < turns; turn += 1)
    await client.enqueueTurn({ conversation: `talk-${turn}`, agent: 'clerk', input: `talk-${turn}` });
  while ((await provider.read()).streaming < turns) await sleep(LOOK_MS);
  const { tokens: before } = await provider.read();
  await worker.read();
  await meter.read();
  await sleep(seconds * 1_000);
  const { cpuMs, lateMs, heldMs } = await worker.read();
  const { redisMs } = await meter.read();
  const chunks = (await provider.read()).tokens - before;
  return {
    chunksPerSecond: chunks / seconds,
    workerUs: (cpuMs * 1_000) / chunks,
    redisUs: (redisMs * 1_000) / chunks,
    late: lateMs,
    held: heldMs,
  };
}

const measured: Run[] = [];
for (let run = 0; run < runs; run += 1) measured.push(await measure());
if (values.json) console.log(JSON.stringify(measured));
else {
  const row = (name: string, of: (run: Run) => number): string =>
    `${name.padEnd(38)}${describeSpread(spreadOf(measured.map(of)), 1)}`;
  console.log(`${turns} answers in flight, ${perSecond} chunks/s each, ${runs} runs of ${seconds} s`);
  console.log(row('chunks/s of the provider', (run) => run.chunksPerSecond));
  console.log(row('worker, µs of CPU a chunk', (run) => run.workerUs));
  console.log(row('Redis, µs of CPU a chunk', (run) => run.redisUs));
  console.log(row('timers of the worker late, p50, ms', ({ late }) => late.p50));
  console.log(row('timers of the worker late, p99, ms', ({ late }) => late.p99));
  console.log(row('CPU between two timers, p50, ms', ({ held }) => held.p50));
  console.log(row('CPU between two timers, p99, ms', ({ held }) => held.p99));
}
