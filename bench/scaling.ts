/**
 * Measures turns per second by number of worker processes, up to saturation: `node bench/scaling.ts [--processes
 * 1,2,4,8] [--seconds 15] [--runs 3] [--concurrency 10] [--latency 200] [--masters 0] [--json]`. Workers call a
 * simulated provider with that latency (ms) through its SDK. Each conversation enqueues one turn after another, and
 * there are as many conversations as concurrent jobs. With `--masters`, Redis is a Cluster with as many queue shards.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { BenchProcess } from './bench-process.ts';
import { CpuMeter } from './cpu-meter.ts';
import { openBenchServers } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const AGENT = 'clerk';
const WARM_UP_MS = sampleSize(3_000, 300);
const LONGEST_WAIT_MS = 30_000;

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    processes: { type: 'string', default: '1,2,4,8' },
    seconds: { type: 'string', default: '15' },
    runs: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '10' },
    latency: { type: 'string', default: '200' },
    masters: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
});
const [seconds, runs, concurrency, masters] = [values.seconds, values.runs, values.concurrency, values.masters].map(
  Number,
) as [number, number, number, number];
const queueShards = Math.max(1, masters);

/** CPU use, as the average number of busy cores. */
interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU use of the busiest Redis server. Only a Cluster has several. */
  readonly redis: number;
  readonly workers: number;
  /** CPU use of the simulated provider and of the processes that enqueue turns. */
  readonly others: number;
}

/** Conversations that each enqueue one turn after another. */
class Producers {
  readonly #client: OpenClient;
  readonly #ended: { readonly at: number; readonly tookMs: number }[] = [];
  readonly #over = new AbortController();
  readonly #talks: Promise<unknown>;

  constructor(client: OpenClient, conversations: number) {
    this.#client = client;
    this.#talks = Promise.all(Array.from({ length: conversations }, (_, at) => this.#talk(`c${at}`)));
  }

  /** Enqueues turns for this time. Rejects if one of the conversations fails. */
  async keepOn(ms: number): Promise<void> {
    await Promise.race([this.#talks, new Promise((resolve) => setTimeout(resolve, ms))]);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#talks;
  }

  /** Returns the durations of the turns that ended between the two times, ascending. */
  tookBetween(since: number, until: number): number[] {
    const ended = this.#ended.filter(({ at }) => at > since && at <= until);
    return ended.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  }

  async #talk(conversation: string): Promise<void> {
    while (!this.#over.signal.aborted) {
      const from = performance.now();
      const { turn } = await this.#client.enqueueTurn({ conversation, agent: AGENT, input: 'What of the order?' });
      const { state } = await this.#client.result(conversation, turn, { waitMs: LONGEST_WAIT_MS });
      if (state !== 'completed') throw new Error(`${conversation}/${turn} is ${state}`);
      const at = performance.now();
      this.#ended.push({ at, tookMs: at - from });
    }
  }
}

/** Starts Redis, a simulated provider and `count` workers, and measures after a warm-up. */
async function measure(count: number): Promise<Measured> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(await openBenchServers(masters), (open) => open.stop());
  const provider = stack.use(await BenchProcess.start(['provider', values.latency]));
  const args = ['worker', redis.url, provider.url, String(queueShards), String(concurrency)];
  const workers = await Promise.all(Array.from({ length: count }, () => BenchProcess.start(args)));
  for (const worker of workers) stack.use(worker);
  const meters = await Promise.all(redis.servers.map((url) => CpuMeter.open(url)));
  for (const meter of meters) stack.defer(() => meter.close());
  const client = stack.adopt(await openClient({ redisUrl: redis.url, queueShards }), (open) => open.close());
  const producers = new Producers(client, count * concurrency);
  const readCpu = () =>
    Promise.all([
      Promise.all(meters.map((meter) => meter.read())),
      Promise.all(workers.map((worker) => worker.readCpuMs())),
      provider.readCpuMs(),
    ]);
  await producers.keepOn(WARM_UP_MS);
  await readCpu();
  const since = performance.now();
  await producers.keepOn(seconds * 1_000);
  const until = performance.now();
  const [servings, workerMs, providerMs] = await readCpu();
  await producers.stop();
  const elapsedMs = until - since;
  const took = producers.tookBetween(since, until);
  const at = (share: number): number => took[Math.ceil(took.length * share) - 1] ?? 0;
  return {
    perSecond: (took.length * 1_000) / elapsedMs,
    p50: at(0.5),
    p99: at(0.99),
    redis: Math.max(...servings.map(({ redisMs }) => redisMs)) / elapsedMs,
    workers: workerMs.reduce((sum, ms) => sum + ms, 0) / elapsedMs,
    others: ((servings[0]?.nodeMs ?? 0) + providerMs) / elapsedMs,
  };
}

type Row = { readonly processes: number } & { readonly [Name in keyof Measured]: Spread };

/** Measures the numbers of processes in alternation, so that other load on the machine affects all of them. */
async function main(): Promise<void> {
  const counts = values.processes.split(',').map(Number);
  const measured = new Map<number, Measured[]>(counts.map((count) => [count, []]));
  for (let run = 1; run <= runs; run += 1) {
    for (const count of counts) {
      const figures = await measure(count);
      measured.get(count)?.push(figures);
      process.stderr.write(`run ${run}, ${count} processes: ${figures.perSecond.toFixed(0)} turns/s\n`);
    }
  }
  const rows: Row[] = [...measured].map(([processes, all]) => {
    const spread = (name: keyof Measured): Spread => spreadOf(all.map((figures) => figures[name]));
    return {
      processes,
      perSecond: spread('perSecond'),
      p50: spread('p50'),
      p99: spread('p99'),
      redis: spread('redis'),
      workers: spread('workers'),
      others: spread('others'),
    };
  });
  if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else process.stdout.write(describeRows(rows));
}

function describeRows(rows: readonly Row[]): string {
  const first = rows[0]?.perSecond.median ?? 1;
  const where = masters > 0 ? `a Cluster of ${masters} masters, ${queueShards} queue shards` : 'one Redis';
  return [
    `${concurrency} turns at a time in each process, provider ${values.latency} ms, ${where}, ${availableParallelism()} cores`,
    '',
    '| processes | turns/s | × one | p50 ms | p99 ms | CPU: Redis | workers | provider and producers |',
    '|---|---|---|---|---|---|---|---|',
    ...rows.map(({ processes, perSecond, p50, p99, redis, workers, others }) => {
      const times = (perSecond.median / first).toFixed(1);
      const cpu = [redis, workers, others].map((spread) => describeSpread(spread)).join(' | ');
      return `| ${processes} | ${describeSpread(perSecond, 0)} | ${times} | ${describeSpread(p50, 0)} | ${describeSpread(p99, 0)} | ${cpu} |`;
    }),
    '',
  ].join('\n');
}

await main();
