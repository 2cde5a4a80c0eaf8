/**
 * Measures turns whose provider limits calls: `node bench/limits.ts [--latency 0,5000] [--json] [--smoke]`. The provider
 * answers a number of calls in each second, counted for all workers, and refuses the others with a pause of a second. An
 * answer takes the latency.
 *
 * Then it counts what a gate costs while nothing limits calls: the commands in Redis of many turns, and those of gates.
 *
 * Targets, without which the program ends with 1: no turn fails. The 95th percentile is at most twice the ideal one. A turn
 * takes at most 3 calls on average. A turn of another model takes at most 5 s. An open gate costs at most a command a second.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { openClient } from '../src/api/client/index.ts';
import { defineAgent } from '../src/domain/agent.ts';
import { ModelError } from '../src/domain/model.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { openBenchRedis } from './redis.ts';

interface Case {
  readonly turns: number;
  readonly perSecond: number;
  readonly latencyMs: number;
}

interface Row extends Case {
  readonly completed: number;
  /** Time of the 95th percentile of the turns, if the provider never had to refuse a call. */
  readonly idealP95Ms: number;
  readonly p95Ms: number;
  readonly ratio: number;
  readonly callsPerTurn: number;
  readonly mostCalls: number;
  /** Time of a turn of another model, which nothing limits, in the middle of the others. */
  readonly otherModelMs: number;
  readonly meetsTargets: boolean;
}

const CASES: readonly Omit<Case, 'latencyMs'>[] = [
  { turns: 60, perSecond: 1 },
  { turns: 100, perSecond: 5 },
];
const SMOKE: readonly Omit<Case, 'latencyMs'>[] = [{ turns: 6, perSecond: 2 }];
const TARGETS = { ratio: 2, callsPerTurn: 3, otherModelMs: 5_000 };
const WORKERS = 2;
/** Turns that a worker runs at once. With slow answers fewer would limit the turns, and not the provider. */
const SLOTS = 64;
const WAIT_MS = 600_000;
const OPEN_TURNS = { full: 2_000, smoke: 200 };

/** A provider that counts the calls of each second, and the calls of each turn by the last message. */
function openProvider({ perSecond, latencyMs }: Case) {
  const bySecond = new Map<number, number>();
  const byTurn = new Map<string, number>();
  const model = scriptedModel({
    profile: { id: 'limited' },
    decide: async ({ messages }) => {
      const turn = String(messages.at(-1)?.content);
      byTurn.set(turn, (byTurn.get(turn) ?? 0) + 1);
      const second = Math.floor(Date.now() / 1_000);
      const count = (bySecond.get(second) ?? 0) + 1;
      bySecond.set(second, count);
      if (count > perSecond) return new ModelError('retry', 'rate limited', { retryAt: Date.now() + 1_000 });
      await sleep(latencyMs);
      return { content: 'fine' };
    },
  });
  return { model, byTurn };
}

async function measure(given: Case): Promise<Row> {
  const { turns, perSecond, latencyMs } = given;
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await openBenchRedis(), (opened) => opened.stop());
  const { model, byTurn } = openProvider(given);
  const free = scriptedModel({ profile: { id: 'free' }, decide: () => ({ content: 'fine' }) });
  const agents = [
    defineAgent({ name: 'limited', system: '', tools: [], policy: {}, model }),
    defineAgent({ name: 'free', system: '', tools: [], policy: {}, model: free }),
  ];
  const concurrency = { turn: SLOTS };
  for (let count = 0; count < WORKERS; count += 1) {
    stack.adopt(await startWorkers({ redisUrl: server.url, agents, concurrency }), (started) =>
      started.close().then(() => undefined),
    );
  }
  const client = stack.adopt(await openClient({ redisUrl: server.url }), (opened) => opened.close());
  const run = async (conversation: string, agent: string) => {
    const begunAt = Date.now();
    await client.enqueueTurn({ conversation, turn: 't1', agent, input: conversation });
    const { state } = await client.result(conversation, 't1', { waitMs: WAIT_MS });
    return { state, ms: Date.now() - begunAt };
  };
  const limited = Array.from({ length: turns }, (_, at) => run(`c${at}`, 'limited'));
  await limited[Math.floor(turns / 4)];
  const other = await run('other', 'free');
  const ended = await Promise.all(limited);
  return judge(given, {
    completed: ended.filter(({ state }) => state === 'completed').length,
    times: ended.map(({ ms }) => ms),
    calls: [...byTurn.values()],
    otherModelMs: other.ms,
    idealP95Ms: ((turns * 0.95) / perSecond) * 1_000 + latencyMs,
  });
}

interface OpenGateRow {
  readonly openTurns: number;
  readonly seconds: number;
  readonly commands: number;
  /** Commands that ask gates. */
  readonly gateCommands: number;
  readonly meetsTargets: boolean;
}

/** Counts commands while no provider limits calls. */
async function countOpenGates(turns: number): Promise<OpenGateRow> {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await openBenchRedis(), (opened) => opened.stop());
  const redis = stack.adopt(new Redis(server.url), (opened) => opened.disconnect());
  const model = scriptedModel({ profile: { id: 'free' }, decide: () => ({ content: 'fine' }) });
  const agents = [defineAgent({ name: 'free', system: '', tools: [], policy: {}, model })];
  stack.adopt(await startWorkers({ redisUrl: server.url, agents }), (started) => started.close().then(() => undefined));
  const client = stack.adopt(await openClient({ redisUrl: server.url }), (opened) => opened.close());
  let [commands, gateCommands] = [0, 0];
  const monitor = stack.adopt(await redis.monitor(), (opened) => opened.disconnect());
  monitor.on('monitor', (_time: string, args: readonly string[], source: string) => {
    if (source === 'lua') return;
    commands += 1;
    if (args.some((arg) => arg.endsWith(':gates'))) gateCommands += 1;
  });
  const begunAt = Date.now();
  const run = async (conversation: string): Promise<void> => {
    await client.enqueueTurn({ conversation, turn: 't1', agent: 'free', input: 'hello' });
    await client.result(conversation, 't1', { waitMs: WAIT_MS });
  };
  await Promise.all(Array.from({ length: turns }, (_, at) => run(`c${at}`)));
  const seconds = Number(((Date.now() - begunAt) / 1_000).toFixed(1));
  const meetsTargets = gateCommands <= seconds + 1;
  return { openTurns: turns, seconds, commands, gateCommands, meetsTargets };
}

interface Measured extends Pick<Row, 'completed' | 'otherModelMs' | 'idealP95Ms'> {
  readonly times: readonly number[];
  readonly calls: readonly number[];
}

function judge(given: Case, { times, calls, completed, otherModelMs, idealP95Ms }: Measured): Row {
  const { turns } = given;
  const p95Ms = times.toSorted((a, b) => a - b)[Math.ceil(turns * 0.95) - 1] ?? Number.NaN;
  const ratio = Number((p95Ms / idealP95Ms).toFixed(2));
  const callsPerTurn = Number((calls.reduce((sum, count) => sum + count, 0) / turns).toFixed(2));
  const isFast = ratio <= TARGETS.ratio && otherModelMs <= TARGETS.otherModelMs;
  const meetsTargets = completed === turns && isFast && callsPerTurn <= TARGETS.callsPerTurn;
  const mostCalls = Math.max(...calls);
  return { ...given, completed, idealP95Ms, p95Ms, ratio, callsPerTurn, mostCalls, otherModelMs, meetsTargets };
}

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, smoke: { type: 'boolean' }, latency: { type: 'string', default: '0' } },
});
const latencies = values.latency.split(',').map(Number);
const rows: Row[] = [];
for (const one of values.smoke === true ? SMOKE : CASES) {
  for (const latencyMs of latencies) rows.push(await measure({ ...one, latencyMs }));
}
const open = await countOpenGates(values.smoke === true ? OPEN_TURNS.smoke : OPEN_TURNS.full);
if (values.json === true) console.log(JSON.stringify([...rows, open]));
else for (const table of [rows, [open]]) console.table(table);
process.exitCode = [...rows, open].every(({ meetsTargets }) => meetsTargets) ? 0 : 1;
