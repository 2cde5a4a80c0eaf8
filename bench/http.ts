/**
 * Measures HTTP: `node bench/http.ts [--runs 3] [--requests 1000] [--lanes 16] [--rate 100] [--json]`. The server runs in a
 * process of its own, without keys. Runs of turns accepted over HTTP alternate with runs of raw `queue.add` of BullMQ on
 * the same Redis. Both go as fast as they can, then at a fixed rate. Then come the first piece of text at a reader of a
 * stream, and the replay of 64,000 characters.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Queue } from 'bullmq';
import { Pool } from 'undici';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { readEvents } from '../test/http/fixture.ts';
import { BenchProcess } from './bench-process.ts';
import { CpuMeter } from './cpu-meter.ts';
import { PacedProvider } from './paced-provider.ts';
import { openBenchRedis } from './redis.ts';
import { timeReplays, writeReplaySource } from './replay-source.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Percentiles, percentilesOf, type Spread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    runs: { type: 'string', default: '3' },
    requests: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '16' },
    rate: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
  },
});
const [runs, requests, lanes, rate] = [values.runs, values.requests, values.lanes, values.rate].map(Number) as [
  number,
  number,
  number,
  number,
];

const AGENT = 'clerk';
const INPUT = 'Where is order 4711?';
/** Seconds of calls at the fixed rate. */
const PACED_SECONDS = sampleSize(4, 1);
/** Turns whose first piece is timed, and the number of turns that run at a time. */
const STREAMED_TURNS = sampleSize(100, 4);
const STREAMED_AT_A_TIME = 4;

type Call = (name: string) => Promise<unknown>;

/** Runs calls in parallel lanes, each as soon as the last has ended. @returns calls a second */
async function runFast(count: number, name: string, call: Call, width = lanes): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  const lane = async (): Promise<void> => {
    for (let at = next; at < count; at = next) {
      next += 1;
      await call(`${name}-${at}`);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return (count / (performance.now() - startedAt)) * 1_000;
}

/** Starts calls at the fixed rate, whether or not earlier ones have ended. @returns ms of a call */
async function runPaced(name: string, call: Call): Promise<Percentiles> {
  const times: number[] = [];
  const startedAt = performance.now();
  const calls: Promise<void>[] = [];
  for (let at = 0; at < rate * PACED_SECONDS; at += 1) {
    const dueAt = startedAt + (at * 1_000) / rate;
    await sleep(Math.max(0, dueAt - performance.now()));
    calls.push(call(`${name}-${at}`).then(() => void times.push(performance.now() - dueAt)));
  }
  await Promise.all(calls);
  return percentilesOf(times);
}

/** Rates, and µs of CPU time a call. */
interface Pair {
  readonly turnsPerSecond: number;
  readonly jobsPerSecond: number;
  readonly serverUs: number;
  readonly adderUs: number;
  readonly turnRedisUs: number;
  readonly jobRedisUs: number;
}

interface Accepting {
  readonly accept: Call;
  readonly add: Call;
  readonly server: BenchProcess;
  readonly meter: CpuMeter;
}

async function measurePair(run: number, { accept, add, server, meter }: Accepting): Promise<Pair> {
  await meter.read();
  const jobsPerSecond = await runFast(requests, `add-${run}`, add);
  const added = await meter.read();
  await server.readCpuMs();
  const turnsPerSecond = await runFast(requests, `accept-${run}`, accept);
  const us = (ms: number): number => (ms / requests) * 1_000;
  const serverUs = us(await server.readCpuMs());
  const { redisMs } = await meter.read();
  const pair = { turnsPerSecond, jobsPerSecond, serverUs, adderUs: us(added.nodeMs) };
  return { ...pair, turnRedisUs: us(redisMs), jobRedisUs: us(added.redisMs) };
}

async function measureAccept() {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const server = stack.use(await BenchProcess.start(['server', redis.url]));
  const meter = stack.adopt(await CpuMeter.open(redis.url), (open) => open.close());
  const pool = stack.adopt(new Pool(server.url, { connections: lanes }), (open) => open.close());
  const queue = stack.adopt(new Queue('raw', { connection: { url: redis.url } }), (open) => open.close());
  const accept: Call = async (name) => {
    const { statusCode, body } = await pool.request({
      path: `/v1/conversations/${name}/turns`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': name },
      body: JSON.stringify({ agent: AGENT, input: INPUT }),
    });
    await body.dump();
    if (statusCode !== 202) throw new Error(`${name}: ${statusCode}`);
  };
  const add: Call = (name) => queue.add('turn', { input: INPUT }, { jobId: name });
  const pairs: Pair[] = [];
  // The first pair warms the compiler up.
  for (let run = -1; run < runs; run += 1) pairs.push(await measurePair(run, { accept, add, server, meter }));
  pairs.shift();
  const paced = { acceptMs: await runPaced('paced', accept), addMs: await runPaced('paced-add', add) };
  const source = await writeReplaySource(redis.url);
  const url = `${server.url}/v1/conversations/${source.conversation}/turns/${source.turn}/events`;
  const replayMs = await timeReplays(async () => {
    await readEvents(url, { isEnough: (events) => countCharacters(events) >= source.characters });
  });
  source.close();
  return { pairs, paced, replayMs };
}

function countCharacters(events: readonly { readonly data: Record<string, unknown> }[]): number {
  return events.reduce((sum, { data: { piece } }) => sum + (typeof piece === 'string' ? piece.length : 0), 0);
}

/** Measures the ms from a model's first token to the first text at a reader over HTTP. */
async function measureFirstPieces(): Promise<Percentiles> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const provider = stack.adopt(new PacedProvider({ tokens: 10, msPerToken: 10 }), (open) => open.close());
  stack.use(await BenchProcess.start(['worker', redis.url, await provider.listen(), '1', '50']));
  const server = stack.use(await BenchProcess.start(['server', redis.url]));
  const client = stack.adopt(await openClient({ redisUrl: redis.url }), (open) => open.close());
  const delays: number[] = [];
  const readTurn: Call = async (conversation) => {
    await readFirstPiece(server.url, conversation, client);
    delays.push(performance.now() - (provider.firstTokens.get(conversation) ?? 0));
  };
  await runFast(2 * STREAMED_AT_A_TIME, 'warm-up', readTurn, STREAMED_AT_A_TIME);
  delays.length = 0;
  await runFast(STREAMED_TURNS, 'first', readTurn, STREAMED_AT_A_TIME);
  return percentilesOf(delays);
}

async function readFirstPiece(baseUrl: string, conversation: string, client: OpenClient): Promise<void> {
  const { turn } = await client.enqueueTurn({ conversation, agent: AGENT, input: conversation });
  const url = `${baseUrl}/v1/conversations/${conversation}/turns/${turn}/events`;
  await readEvents(url, { isEnough: (events) => events.some(({ type }) => type === 'text') });
}

const { pairs, paced, replayMs } = await measureAccept();
const firstPieceMs = await measureFirstPieces();
const spread = (of: (pair: Pair) => number): Spread => spreadOf(pairs.map(of));
const row = (name: string, of: (pair: Pair) => number, digits = 0): string =>
  `${name.padEnd(46)}${describeSpread(spread(of), digits)}`;
const delays = (name: string, { p50, p99 }: Percentiles): string => `${name.padEnd(46)}p50 ${p50}, p99 ${p99}`;
const lines = [
  `${runs} pairs of runs, ${requests} calls each, ${lanes} at a time, median (min–max)`,
  row('turns accepted over HTTP a second', ({ turnsPerSecond }) => turnsPerSecond),
  row('raw queue.add a second', ({ jobsPerSecond }) => jobsPerSecond),
  row('ratio', ({ turnsPerSecond, jobsPerSecond }) => turnsPerSecond / jobsPerSecond, 2),
  row('server, µs of CPU time a turn', ({ serverUs }) => serverUs),
  row('process with queue.add, µs of CPU time a job', ({ adderUs }) => adderUs),
  row('ratio', ({ serverUs, adderUs }) => serverUs / adderUs, 1),
  row('Redis, µs of CPU time a turn', ({ turnRedisUs }) => turnRedisUs),
  row('Redis, µs of CPU time a job', ({ jobRedisUs }) => jobRedisUs),
  delays(`accept over HTTP at ${rate} a second, ms`, paced.acceptMs),
  delays(`raw queue.add at ${rate} a second, ms`, paced.addMs),
  delays(`first piece, ${STREAMED_AT_A_TIME} turns at a time, ms (goal 20)`, firstPieceMs),
  `${'replay of 64,000 characters, ms (goal 50)'.padEnd(46)}${describeSpread(replayMs, 1)}`,
];
console.log(values.json ? JSON.stringify({ pairs, paced, firstPieceMs, replayMs }) : lines.join('\n'));
