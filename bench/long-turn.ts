/**
 * Measures one turn of 1,000 tool calls with results of 5 kB: `node bench/long-turn.ts [--calls 1000] [--kills 20]
 * [--json]`. The worker is killed at random calls. Goals: every call is reached. The keys of the conversation take at
 * most 1.2 times the bytes of its content, at the end and an hour later. Call 1,000 costs at most 1.1 times as much as
 * call 10. At most one model call is repeated for each kill.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { openClient } from '../src/api/client/index.ts';
import { Keyspace } from '../src/store/keys.ts';
import { openStore } from '../src/store/open-store.ts';
import { Random } from '../test/setup/random.ts';
import { restConversation } from '../test/store/rest-conversation.ts';
import { openBenchRedis } from './redis.ts';
import { spreadOf } from './spread.ts';

const CONVERSATION = 'long';
const SHARDS = 16;
/** Calls on each side of a call whose costs count as its own. */
const NEIGHBOURS = 8;
const LONGEST_MS = 1_800_000;

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    calls: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});
const [calls, kills] = [values.calls, values.kills].map(Number) as [number, number];

interface Line {
  readonly type: 'started' | 'model' | 'pass';
  readonly number?: number;
  readonly outcome?: string;
  readonly at: number;
}

/** A model call as the worker begins it. `written` is what clients have sent to Redis so far, in bytes. */
interface Begun {
  readonly number: number;
  readonly at: number;
  readonly written: number;
}

const redis = await openBenchRedis();
const connection = new Redis(redis.url);
const random = new Random(20_261_126);
const begun: Begun[] = [];
const passes: string[] = [];
const killAt = new Set(Array.from({ length: kills }, () => random.between(20, Math.max(20, calls - 20))));
const killed = new Set<number>();
let worker: ChildProcess | undefined;
const over = new AbortController();

async function readWritten(): Promise<number> {
  return Number(/total_net_input_bytes:(\d+)/.exec(await connection.info('stats'))?.[1]);
}

async function hear(child: ChildProcess, { type, number = 0, outcome = '', at }: Line): Promise<void> {
  if (type === 'pass') passes.push(outcome);
  if (type !== 'model') return;
  begun.push({ number, at, written: await readWritten() });
  if (!killAt.delete(number)) return;
  killed.add(number);
  child.kill('SIGKILL');
}

/** Runs a worker, and another one when it was killed. */
async function keepWorking(): Promise<void> {
  while (!over.signal.aborted) {
    const script = fileURLToPath(new URL('./long-turn-worker.ts', import.meta.url));
    const child = spawn(process.execPath, [script, redis.url, String(calls)], { stdio: ['ignore', 'pipe', 'inherit'] });
    worker = child;
    createInterface({ input: child.stdout }).on('line', (text) => void hear(child, JSON.parse(text) as Line));
    await once(child, 'close');
  }
}

/** Costs of the calls around one: ms and bytes written to Redis from one model call to the next. */
function costOf(number: number): { readonly ms: number; readonly bytes: number } {
  const last = new Map(begun.map((one) => [one.number, one]));
  const near = Array.from({ length: 2 * NEIGHBOURS }, (_, at) => number - NEIGHBOURS + at);
  const costs = near.flatMap((from) => {
    const [one, next] = [last.get(from), last.get(from + 1)];
    if (one === undefined || next === undefined || killed.has(from) || killed.has(from + 1)) return [];
    return [{ ms: next.at - one.at, bytes: next.written - one.written }];
  });
  return { ms: spreadOf(costs.map(({ ms }) => ms)).median, bytes: spreadOf(costs.map(({ bytes }) => bytes)).median };
}

async function readStored(): Promise<number> {
  const keys = await connection.keys(`{tf*:${CONVERSATION}*`);
  const sizes = await Promise.all(keys.map((key) => connection.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

/** Packs the log as after an hour without use. */
async function packIdle(): Promise<void> {
  const [keyspace, ref] = [new Keyspace(SHARDS), { tenant: '_', id: CONVERSATION }];
  await restConversation(connection, keyspace, ref);
  await openStore(connection, keyspace).packLog(ref);
}

const client = await openClient({ redisUrl: redis.url, shards: SHARDS });
const working = keepWorking();
try {
  const startedAt = performance.now();
  const { turn } = await client.enqueueTurn({ conversation: CONVERSATION, agent: 'reader', input: 'Read all files.' });
  const view = await client.result(CONVERSATION, turn, { waitMs: LONGEST_MS });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const log = await client.log(CONVERSATION);
  const content = log.reduce((sum, { bytes }) => sum + bytes, 0);
  const stored = await readStored();
  await packIdle();
  const results = log.filter(({ message }) => message.role === 'tool').length;
  const points = [10, 100, 1_000]
    .filter((number) => number <= calls)
    .map((number) => [number, costOf(number - (number === calls ? NEIGHBOURS : 0))] as const);
  const [first, last] = [points[0]?.[1], points.at(-1)?.[1]];
  const report = {
    state: view.state,
    seconds,
    calls: `${results} of ${calls}`,
    storedByContent: Number((stored / content).toFixed(2)),
    packedByContent: Number(((await readStored()) / content).toFixed(2)),
    costs: Object.fromEntries(points),
    lastByFirst: { ms: ratio(last?.ms, first?.ms), bytes: ratio(last?.bytes, first?.bytes) },
    kills: killed.size,
    repeatedModelCalls: begun.length - new Set(begun.map(({ number }) => number)).size,
    passes: Object.fromEntries(
      Map.groupBy(passes, (outcome) => outcome)
        .entries()
        .map(([outcome, all]) => [outcome, all.length]),
    ),
  };
  console.log(values.json ? JSON.stringify(report) : JSON.stringify(report, undefined, 2));
  if (view.state !== 'completed') process.exitCode = 1;
} finally {
  over.abort();
  worker?.kill('SIGKILL');
  await working;
  connection.disconnect();
  await client.close();
  await redis.stop();
}

function ratio(one = 0, other = 1): number {
  return Number((one / other).toFixed(2));
}
