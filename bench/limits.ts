/**
 * Measures turns whose provider limits calls: `node bench/limits.ts [--json] [--smoke]`. The provider answers a number of
 * calls in each second, counted for all workers, and refuses the others with a pause of a second. Targets: no turn fails. The
 * 95th percentile is at most twice the ideal one. A turn takes at most 3 calls. Another model is not slowed.
 */
import { parseArgs } from 'node:util';
import { openClient } from '../src/client/index.ts';
import { defineAgent } from '../src/domain/agent.ts';
import { ModelError } from '../src/domain/model.ts';
import { scriptedModel } from '../src/models/scripted.ts';
import { startWorkers } from '../src/runtime/start-workers.ts';
import { openBenchRedis } from './redis.ts';

interface Case {
  readonly turns: number;
  readonly perSecond: number;
}

interface Row extends Case {
  readonly completed: number;
  readonly idealP95Ms: number;
  readonly p95Ms: number;
  readonly ratio: number;
  readonly callsPerTurn: number;
  /** Time of a turn of another model, which nothing limits, in the middle of the others. */
  readonly otherModelMs: number;
}

const CASES: readonly Case[] = [
  { turns: 60, perSecond: 1 },
  { turns: 100, perSecond: 5 },
];
const SMOKE: readonly Case[] = [{ turns: 6, perSecond: 2 }];
const WORKERS = 2;
const WAIT_MS = 300_000;

/** A provider that counts the calls of each second. */
function openProvider(perSecond: number) {
  const bySecond = new Map<number, number>();
  const counts = { calls: 0 };
  const model = scriptedModel({
    profile: { id: 'limited' },
    decide: () => {
      const second = Math.floor(Date.now() / 1_000);
      const count = (bySecond.get(second) ?? 0) + 1;
      bySecond.set(second, count);
      counts.calls += 1;
      return count > perSecond
        ? new ModelError('retry', 'rate limited', { retryAt: Date.now() + 1_000 })
        : { content: 'fine' };
    },
  });
  return { model, counts };
}

async function measure({ turns, perSecond }: Case): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await openBenchRedis(), (opened) => opened.stop());
  const { model, counts } = openProvider(perSecond);
  const free = scriptedModel({ profile: { id: 'free' }, decide: () => ({ content: 'fine' }) });
  const agents = [
    defineAgent({ name: 'limited', system: '', tools: [], policy: {}, model }),
    defineAgent({ name: 'free', system: '', tools: [], policy: {}, model: free }),
  ];
  for (let count = 0; count < WORKERS; count += 1) {
    stack.adopt(await startWorkers({ redisUrl: server.url, agents }), (started) =>
      started.close().then(() => undefined),
    );
  }
  const client = stack.adopt(await openClient({ redisUrl: server.url }), (opened) => opened.close());
  const startedAt = Date.now();
  const run = async (conversation: string, agent: string) => {
    const begunAt = Date.now();
    await client.enqueueTurn({ conversation, turn: 't1', agent, input: 'go' });
    const { state } = await client.result(conversation, 't1', { waitMs: WAIT_MS });
    return { state, ms: Date.now() - begunAt };
  };
  const limited = Array.from({ length: turns }, (_, at) => run(`c${at}`, 'limited'));
  await limited[Math.floor(turns / 4)];
  const other = await run('other', 'free');
  const ended = await Promise.all(limited);
  const times = ended.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const p95Ms = times[Math.ceil(turns * 0.95) - 1] ?? Date.now() - startedAt;
  const idealP95Ms = ((turns * 0.95) / perSecond) * 1_000;
  return {
    turns,
    perSecond,
    completed: ended.filter(({ state }) => state === 'completed').length,
    idealP95Ms,
    p95Ms,
    ratio: Number((p95Ms / idealP95Ms).toFixed(2)),
    callsPerTurn: Number((counts.calls / turns).toFixed(2)),
    otherModelMs: other.ms,
  };
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, smoke: { type: 'boolean' } } });
const rows: Row[] = [];
for (const one of values.smoke === true ? SMOKE : CASES) rows.push(await measure(one));
if (values.json === true) console.log(JSON.stringify(rows));
else console.table(rows);
