/**
 * Measures HTTP: `node bench/http.ts [--runs 5] [--requests 2000] [--lanes 16] [--json]`. In each run, turns accepted over
 * HTTP alternate with raw `queue.add` of BullMQ on the same Redis. Then it measures the first piece of text at a reader of
 * a stream, and the replay of 64,000 characters.
 */
import { parseArgs } from 'node:util';
import { Queue } from 'bullmq';
import { Agent, setGlobalDispatcher } from 'undici';
import { type OpenClient, openClient } from '../src/client/index.ts';
import { createHttpApp } from '../src/http/index.ts';
import { serveHttp } from '../src/http/serve-http.ts';
import { openConnection } from '../src/redis/connection.ts';
import { openDatabase } from '../src/store/database.ts';
import { openStore } from '../src/store/open-store.ts';
import { readEvents } from '../test/http/fixture.ts';
import { acceptAndClaim, newConversation } from '../test/store/samples.ts';
import { BenchProcess } from './bench-process.ts';
import { PacedProvider } from './paced-provider.ts';
import { openBenchRedis } from './redis.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    requests: { type: 'string', default: '2000' },
    lanes: { type: 'string', default: '16' },
    json: { type: 'boolean', default: false },
  },
});
const [runs, requests, lanes] = [values.runs, values.requests, values.lanes].map(Number) as [number, number, number];

const AGENT = 'clerk';
const SHARDS = 256;
const REPEATS = 30;
const REPLAY_CHARACTERS = 64_000;
const BATCH_CHARACTERS = 20;

interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** Runs calls in parallel lanes, and measures the time of each. */
async function measure(call: (index: number) => Promise<unknown>): Promise<Load> {
  const times: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  const lane = async (): Promise<void> => {
    for (let at = next; at < requests; at = next) {
      next += 1;
      const calledAt = performance.now();
      await call(at);
      times.push(performance.now() - calledAt);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const perSecond = (requests / (performance.now() - startedAt)) * 1_000;
  return { perSecond, ...percentiles(times) };
}

function percentiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

async function acceptOverHttp(baseUrl: string, conversation: string): Promise<void> {
  const response = await fetch(`${baseUrl}/v1/conversations/${conversation}/turns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': conversation },
    body: JSON.stringify({ agent: AGENT, input: 'Where is order 4711?' }),
  });
  await response.text();
  if (response.status !== 202) throw new Error(`${conversation}: ${response.status}`);
}

/** Measures the ms from a model's first token to the first text at a reader over HTTP, one turn at a time. */
async function measureFirstPieces(baseUrl: string, client: OpenClient, provider: PacedProvider) {
  const delays: number[] = [];
  for (let at = 0; at < REPEATS; at += 1) {
    const conversation = `first-${at}`;
    const { turn } = await client.enqueueTurn({ conversation, agent: AGENT, input: conversation });
    const url = `${baseUrl}/v1/conversations/${conversation}/turns/${turn}/events`;
    await readEvents(url, { isEnough: (events) => events.some(({ type }) => type === 'text') });
    delays.push(performance.now() - (provider.firstTokens.get(conversation) ?? 0));
    await client.result(conversation, turn, { waitMs: 60_000 });
  }
  return percentiles(delays);
}

/** Measures the replay of a turn in progress whose pieces are in Redis. */
async function measureReplays(baseUrl: string, redisUrl: string): Promise<Spread> {
  const redis = openConnection({ url: redisUrl });
  const store = openStore(redis, await openDatabase(redis, { shards: SHARDS }));
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 't1');
  await store.followTurn(conversation, 't1');
  const text = 'word '.repeat(REPLAY_CHARACTERS / 5);
  for (let at = 0; at < text.length; at += BATCH_CHARACTERS) {
    const piece = { kind: 'text', at, text: text.slice(at, at + BATCH_CHARACTERS) } as const;
    await store.appendPieces(lease, { seq: 2, step: 1, epoch: lease.epoch, attempt: 1, pieces: [piece] });
  }
  const url = `${baseUrl}/v1/conversations/${conversation.id}/turns/t1/events`;
  const took: number[] = [];
  for (let count = 0; count < REPEATS; count += 1) {
    const startedAt = performance.now();
    await readEvents(url, {
      isEnough: (events) =>
        events.reduce((sum, { data }) => sum + JSON.stringify(data['piece'] ?? '').length - 2, 0) >= text.length,
    });
    took.push(performance.now() - startedAt);
  }
  redis.disconnect();
  return spreadOf(took);
}

async function main(): Promise<void> {
  // As many connections as lanes, as in a service.
  setGlobalDispatcher(new Agent({ connections: lanes }));
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const client = stack.adopt(await openClient({ redisUrl: redis.url }), (open) => open.close());
  const app = createHttpApp({ client });
  const server = stack.adopt(
    await serveHttp({ app, host: '127.0.0.1', port: 0 }),
    async (open) => void (await open.close(1_000)),
  );
  const queue = stack.adopt(new Queue('raw', { connection: { url: redis.url } }), (open) => open.close());
  const pairs: { readonly http: Load; readonly raw: Load }[] = [];
  for (let run = -1; run < runs; run += 1) {
    const raw = await measure((at) => queue.add('turn', { input: 'Where is order 4711?' }, { jobId: `r${run}-${at}` }));
    const http = await measure((at) => acceptOverHttp(server.url, `accept-${run}-${at}`));
    if (run < 0) continue; // The first pair warms the compiler up.
    pairs.push({ http, raw });
    process.stderr.write(`run ${run + 1}: ${http.perSecond.toFixed(0)} turns/s, ${raw.perSecond.toFixed(0)} jobs/s\n`);
  }
  const streamRedis = stack.adopt(await openBenchRedis(), (open) => open.stop());
  const provider = stack.adopt(new PacedProvider({ tokens: 50, msPerToken: 10 }), (open) => open.close());
  stack.use(await BenchProcess.start(['worker', streamRedis.url, await provider.listen(), '1', '50']));
  const streams = stack.adopt(await openClient({ redisUrl: streamRedis.url }), (open) => open.close());
  const streamServer = stack.adopt(
    await serveHttp({ app: createHttpApp({ client: streams }), host: '127.0.0.1', port: 0 }),
    async (open) => void (await open.close(1_000)),
  );
  const spread = (of: (pair: (typeof pairs)[number]) => number): Spread => spreadOf(pairs.map(of));
  const figures = {
    turnsPerSecond: spread(({ http }) => http.perSecond),
    jobsPerSecond: spread(({ raw }) => raw.perSecond),
    ratio: spread(({ http, raw }) => http.perSecond / raw.perSecond),
    acceptP50Ms: spread(({ http }) => http.p50),
    acceptP99Ms: spread(({ http }) => http.p99),
    addP50Ms: spread(({ raw }) => raw.p50),
    addP99Ms: spread(({ raw }) => raw.p99),
    firstPieceMs: await measureFirstPieces(streamServer.url, streams, provider),
    replayMs: await measureReplays(server.url, redis.url),
  };
  process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : describe(figures));
}

interface Figures extends Readonly<Record<'turnsPerSecond' | 'jobsPerSecond' | 'ratio', Spread>> {
  readonly acceptP50Ms: Spread;
  readonly acceptP99Ms: Spread;
  readonly addP50Ms: Spread;
  readonly addP99Ms: Spread;
  readonly firstPieceMs: { readonly p50: number; readonly p99: number };
  readonly replayMs: Spread;
}

function describe(figures: Figures): string {
  const row = (name: string, spread: Spread, digits = 2): string =>
    `${name.padEnd(38)}${describeSpread(spread, digits)}`;
  const { p50, p99 } = figures.firstPieceMs;
  return [
    `${requests} requests a run, ${lanes} at a time, ${runs} pairs of runs, one process for client and server`,
    row('turns accepted over HTTP a second', figures.turnsPerSecond, 0),
    row('raw queue.add a second', figures.jobsPerSecond, 0),
    row('ratio', figures.ratio),
    row('accept over HTTP, p50, ms', figures.acceptP50Ms),
    row('accept over HTTP, p99, ms', figures.acceptP99Ms),
    row('raw queue.add, p50, ms', figures.addP50Ms),
    row('raw queue.add, p99, ms', figures.addP99Ms),
    `first piece over HTTP, one turn at a time   p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    row('replay of 64,000 characters, ms', figures.replayMs),
    '',
  ].join('\n');
}

await main();
