/**
 * Measures what idle workers cost Redis: `node bench/idle.ts [--workers=1,16,64] [--seconds=10] [--json]`. Target: at most
 * 600 commands a second, however many workers. Commands inside scripts count.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { openBenchRedis } from './redis.ts';

interface Row {
  readonly workers: number;
  readonly commandsPerSecond: number;
  readonly redisCpuMsPerSecond: number;
  /** The five commands that Redis ran most often. */
  readonly most: string;
}

/** Time in which workers connect and take their leases, in ms. */
const SETTLE_MS = 3_000;
const agent = { name: 'idle', system: '', tools: [], policy: {}, model: scriptedModel({ decide: () => ({}) }) };

async function readUse(redis: Redis): Promise<{ commands: Map<string, number>; cpuMs: number }> {
  const info = await redis.info('everything');
  const commands = [...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map(
    ([, name = '', calls]) => [name, Number(calls)] as const,
  );
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, value]) => Number(value));
  return { commands: new Map(commands), cpuMs: 1_000 * seconds.reduce((sum, value) => sum + value, 0) };
}

async function measure(workers: number, seconds: number): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await openBenchRedis(), (opened) => opened.stop());
  for (let count = 0; count < workers; count += 1) {
    stack.adopt(await startWorkers({ redisUrl: server.url, agents: [agent] }), (started) =>
      started.close().then(() => undefined),
    );
  }
  const redis = stack.adopt(new Redis(server.url), (opened) => opened.disconnect());
  await sleep(SETTLE_MS);
  const before = await readUse(redis);
  await sleep(seconds * 1_000);
  const after = await readUse(redis);
  const perSecond = [...after.commands]
    .map(([name, calls]) => [name, (calls - (before.commands.get(name) ?? 0)) / seconds] as const)
    .toSorted(([, a], [, b]) => b - a);
  return {
    workers,
    commandsPerSecond: Math.round(perSecond.reduce((sum, [, calls]) => sum + calls, 0)),
    redisCpuMsPerSecond: Number(((after.cpuMs - before.cpuMs) / seconds).toFixed(1)),
    most: perSecond
      .slice(0, 5)
      .map(([name, calls]) => `${name} ${Math.round(calls)}`)
      .join(', '),
  };
}

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    workers: { type: 'string', default: '1,16,64' },
    seconds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const rows: Row[] = [];
for (const workers of values.workers.split(',')) rows.push(await measure(Number(workers), Number(values.seconds)));
if (values.json) console.log(JSON.stringify(rows));
else console.table(rows);
