/**
 * Measures what streams cost: `node bench/streams.ts [--runs 3] [--turns 50] [--concurrency 50] [--tokens 200]
 * [--token-ms 10] [--json]`. One worker process answers turns from a provider that streams at the pace of a model. Runs
 * whose turns are read by `client.stream` alternate with runs whose turns have no readers.
 */
import { parseArgs } from 'node:util';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { BenchProcess } from './bench-process.ts';
import { CpuMeter } from './cpu-meter.ts';
import { PacedProvider } from './paced-provider.ts';
import { openBenchRedis } from './redis.ts';
import { timeReplays, writeReplaySource } from './replay-source.ts';
import { describeSpread, type Percentiles, percentilesOf, type Spread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    runs: { type: 'string', default: '3' },
    turns: { type: 'string', default: '50' },
    concurrency: { type: 'string', default: '50' },
    tokens: { type: 'string', default: '200' },
    'token-ms': { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const [runs, turns, concurrency, tokens, msPerToken] = [
  values.runs,
  values.turns,
  values.concurrency,
  values.tokens,
  values['token-ms'],
].map(Number) as [number, number, number, number, number];

const AGENT = 'clerk';
/** Turns that run one at a time, for the time of their first piece. */
const ALONE = 10;

/** CPU time of a turn, in ms. */
interface Cost {
  readonly worker: number;
  readonly redis: number;
}

/** Runs turns beside each other, and returns their cost. */
class Turns {
  /** ms from the first token of the provider to the first text at the reader. */
  readonly delays: number[] = [];
  readonly #client: OpenClient;
  readonly #provider: PacedProvider;
  readonly #worker: BenchProcess;
  readonly #meter: CpuMeter;

  constructor(client: OpenClient, provider: PacedProvider, worker: BenchProcess, meter: CpuMeter) {
    this.#client = client;
    this.#provider = provider;
    this.#worker = worker;
    this.#meter = meter;
  }

  async run(name: string, isStreamed: boolean, count = turns): Promise<Cost> {
    await this.#worker.readCpuMs();
    await this.#meter.read();
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let at = next; at < count; at = next) {
        next += 1;
        await this.#runTurn(`${name}-${at}`, isStreamed);
      }
    };
    await Promise.all(Array.from({ length: Math.min(count, concurrency) }, lane));
    const worker = (await this.#worker.readCpuMs()) / count;
    return { worker, redis: (await this.#meter.read()).redisMs / count };
  }

  async #runTurn(conversation: string, isStreamed: boolean): Promise<void> {
    const { turn } = await this.#client.enqueueTurn({ conversation, agent: AGENT, input: conversation });
    if (isStreamed) await this.#readTurn(conversation, turn);
    const { state } = await this.#client.result(conversation, turn, { waitMs: 60_000 });
    if (state !== 'completed') throw new Error(`${conversation} is ${state}`);
  }

  async #readTurn(conversation: string, turn: string): Promise<void> {
    let firstAt: number | undefined;
    for await (const part of this.#client.stream(conversation, turn)) {
      if (part.type === 'text') firstAt ??= performance.now();
    }
    this.delays.push((firstAt ?? 0) - (this.#provider.firstTokens.get(conversation) ?? 0));
  }
}

/** Measures how long `client.stream` takes to deliver 64,000 characters from pieces, and from the log. */
async function measureReplays(client: OpenClient, redisUrl: string): Promise<{ pieces: Spread; log: Spread }> {
  const source = await writeReplaySource(redisUrl);
  const replay = async (): Promise<void> => {
    let length = 0;
    for await (const part of client.stream(source.conversation, source.turn)) {
      if (part.type === 'text') length += part.piece.length;
      if (length === source.characters) break;
    }
  };
  const pieces = await timeReplays(replay);
  await source.settle();
  const log = await timeReplays(replay);
  source.close();
  return { pieces, log };
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const provider = stack.adopt(new PacedProvider({ tokens, msPerToken }), (open) => open.close());
  const worker = stack.use(
    await BenchProcess.start(['worker', redis.url, await provider.listen(), '1', String(concurrency)]),
  );
  const meter = stack.adopt(await CpuMeter.open(redis.url), (open) => open.close());
  const client = stack.adopt(await openClient({ redisUrl: redis.url }), (open) => open.close());
  const measured = new Turns(client, provider, worker, meter);
  await measured.run('warm-up', true);
  measured.delays.length = 0;
  const pairs: { readonly silent: Cost; readonly streamed: Cost }[] = [];
  for (let run = 0; run < runs; run += 1) {
    const silent = await measured.run(`silent-${run}`, false);
    const streamed = await measured.run(`streamed-${run}`, true);
    pairs.push({ silent, streamed });
    process.stderr.write(
      `run ${run + 1}: worker ${silent.worker.toFixed(2)} → ${streamed.worker.toFixed(2)} ms a turn\n`,
    );
  }
  const busy = percentilesOf(measured.delays);
  measured.delays.length = 0;
  for (let at = 0; at < ALONE; at += 1) await measured.run(`alone-${at}`, true, 1);
  const spread = (of: (pair: (typeof pairs)[number]) => number): Spread => spreadOf(pairs.map(of));
  const figures = {
    silentWorkerMs: spread(({ silent }) => silent.worker),
    streamedWorkerMs: spread(({ streamed }) => streamed.worker),
    workerRatio: spread(({ silent, streamed }) => streamed.worker / silent.worker),
    silentRedisMs: spread(({ silent }) => silent.redis),
    streamedRedisMs: spread(({ streamed }) => streamed.redis),
    firstPieceMs: { busy, alone: percentilesOf(measured.delays) },
    replayMs: await measureReplays(client, redis.url),
  };
  process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : describe(figures));
}

interface Figures {
  readonly silentWorkerMs: Spread;
  readonly streamedWorkerMs: Spread;
  readonly workerRatio: Spread;
  readonly silentRedisMs: Spread;
  readonly streamedRedisMs: Spread;
  readonly firstPieceMs: Readonly<Record<'busy' | 'alone', Percentiles>>;
  readonly replayMs: { readonly pieces: Spread; readonly log: Spread };
}

function describe(figures: Figures): string {
  const { firstPieceMs, replayMs } = figures;
  const row = (name: string, spread: Spread): string => `${name.padEnd(37)}${describeSpread(spread)}`;
  return [
    `${turns} turns a run, ${concurrency} at a time, ${tokens} tokens every ${msPerToken} ms, ${runs} pairs of runs`,
    row('worker, not streamed, ms a turn', figures.silentWorkerMs),
    row('worker, streamed, ms a turn', figures.streamedWorkerMs),
    row('worker, ratio', figures.workerRatio),
    row('Redis, not streamed, ms a turn', figures.silentRedisMs),
    row('Redis, streamed and read, ms a turn', figures.streamedRedisMs),
    `first piece, ${concurrency} turns at a time   p50 ${firstPieceMs.busy.p50} ms, p99 ${firstPieceMs.busy.p99} ms`,
    `first piece, one turn at a time   p50 ${firstPieceMs.alone.p50} ms, p99 ${firstPieceMs.alone.p99} ms`,
    row('replay from pieces, ms', replayMs.pieces),
    row('replay from the log, ms', replayMs.log),
    '',
  ].join('\n');
}

await main();
