import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { isSettled } from '../src/domain/turn.ts';
import { FaultyProxy } from '../test/chaos/faulty-proxy.ts';
import { openBenchRedis } from './redis.ts';

/**
 * Measures how long turns wait after a fault of their worker: `node bench/failover.ts [--kills=100] [--fault=kill] [--json]`.
 */
const FAULTS = {
  /** SIGKILL. */
  kill: { signal: 'SIGKILL' },
  /** SIGSTOP. The connection stays, so only the lease ends the ownership. */
  freeze: { signal: 'SIGSTOP' },
  /** The worker runs on, but has lost its network. Redis sees that the connection has ended. */
  cut: { signal: undefined },
} as const;

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    kills: { type: 'string', default: '100' },
    fault: { type: 'string', default: 'kill' },
    json: { type: 'boolean', default: false },
  },
});
const KILLS = Number(values.kills);
if (!Object.hasOwn(FAULTS, values.fault)) throw new Error(`--fault: one of ${Object.keys(FAULTS).join(', ')}`);
const FAULT = values.fault as keyof typeof FAULTS;
const WORKERS = 3;
const CONVERSATIONS = 60;
const KILL_EVERY_MS = 3_000;
/** Maximum ms until another worker claims the turn. Only the lease of a frozen worker must lapse before. */
const BOUND_MS = FAULT === 'freeze' ? 12_000 : 7_000;
const LONGEST_MS = 60_000;

interface RunningWorker {
  readonly process: ChildProcess;
  readonly proxy: FaultyProxy;
}

interface Line {
  readonly type: 'started' | 'turn_claimed' | 'turn_settled';
  readonly turn: string;
  readonly at: number;
}

/** Reads the output of the worker processes and measures how long the turns of killed workers waited. */
class Observer {
  /** The worker that owns each turn. */
  readonly #owners = new Map<string, ChildProcess>();
  /** For each turn of a killed worker, the time of the kill. Removed when another worker claims the turn. */
  readonly orphans = new Map<string, number>();
  readonly waitsMs: number[] = [];
  settled = 0;

  hear(worker: ChildProcess, { type, turn, at }: Line): void {
    if (type === 'started') return;
    if (type === 'turn_settled') {
      this.settled += 1;
      this.#owners.delete(turn);
      return;
    }
    const killedAt = this.orphans.get(turn);
    if (killedAt !== undefined && at >= killedAt) {
      this.waitsMs.push(at - killedAt);
      this.orphans.delete(turn);
    }
    this.#owners.set(turn, worker);
  }

  orphan(worker: ChildProcess, at: number): void {
    for (const [turn, owner] of this.#owners) {
      if (owner !== worker) continue;
      this.#owners.delete(turn);
      this.orphans.set(turn, at);
    }
  }
}

async function startWorker(redisUrl: string, observer: Observer): Promise<RunningWorker> {
  const script = fileURLToPath(new URL('./failover-worker.ts', import.meta.url));
  const proxy = await FaultyProxy.listen(Number(new URL(redisUrl).port));
  const url = FAULT === 'cut' ? proxy.url : redisUrl;
  const worker = spawn(process.execPath, [script, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (worker.stdout === null) throw new Error('the output of the worker process is not piped');
  const started = Promise.withResolvers<void>();
  createInterface({ input: worker.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.type === 'started') started.resolve();
    observer.hear(worker, line);
  });
  await Promise.race([started.promise, once(worker, 'exit')]);
  return { process: worker, proxy };
}

/** Keeps each conversation busy with two unsettled turns, until `isOver` returns true. */
async function keepBusy(client: OpenClient, conversation: string, isOver: () => boolean): Promise<void> {
  const enqueue = (): Promise<{ turn: string }> => client.enqueueTurn({ conversation, agent: 'slow', input: 'look' });
  let next = await enqueue();
  while (!isOver()) {
    const { turn } = next;
    next = await enqueue();
    await client.result(conversation, turn, { waitMs: 2 * LONGEST_MS });
  }
}

/** Harms a worker. A worker that lives is killed once other workers have its turns, because it must not continue. */
async function strike({ process: victim, proxy }: RunningWorker, observer: Observer): Promise<void> {
  const exited = once(victim, 'close');
  const struckAt = Date.now();
  const { signal } = FAULTS[FAULT];
  if (signal === undefined) await proxy.close();
  else victim.kill(signal);
  if (signal !== 'SIGKILL') {
    observer.orphan(victim, struckAt);
    const until = struckAt + LONGEST_MS;
    while (observer.orphans.size > 0 && Date.now() < until) await sleep(100);
    victim.kill('SIGKILL');
  }
  // Reads the last lines of the killed worker first, because a settled turn waits for no other worker.
  await exited;
  if (signal === 'SIGKILL') observer.orphan(victim, struckAt);
  if (signal !== undefined) await proxy.close();
}

/** Strikes workers one after another, each while it runs turns, and starts a new worker each time. */
async function killInTurns(workers: RunningWorker[], redisUrl: string, observer: Observer): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    // The pause varies, so that kills do not always meet the same point between two heartbeats.
    await sleep(KILL_EVERY_MS + ((kill * 337) % 1_000) - 500);
    const at = kill % WORKERS;
    const victim = workers[at] as RunningWorker;
    await strike(victim, observer);
    workers[at] = await startWorker(redisUrl, observer);
    if (kill % 10 === 9) process.stderr.write(`${kill + 1} kills, ${observer.waitsMs.length} turns went on\n`);
  }
}

/** Removes turns that the killed worker settled before it could print so. They wait for no other worker. */
async function dropSettled(client: OpenClient, { orphans }: Observer): Promise<void> {
  for (const turn of orphans.keys()) {
    const [conversation = '', id = ''] = turn.split('/');
    if (isSettled((await client.result(conversation, id)).state)) orphans.delete(turn);
  }
}

async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const observer = new Observer();
  const client = await openClient({ redisUrl: redis.url });
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(redis.url, observer)));
  let isOver = false;
  try {
    const names = Array.from({ length: CONVERSATIONS }, (_, index) => `c${index}`);
    const busy = Promise.all(names.map((name) => keepBusy(client, name, () => isOver)));
    await killInTurns(workers, redis.url, observer);
    isOver = true;
    await Promise.race([busy, sleep(LONGEST_MS, undefined, { ref: false })]);
    await dropSettled(client, observer);
    report(observer, redis.description);
  } finally {
    for (const { process: worker } of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map(({ proxy }) => proxy.close()));
    await client.close();
    await redis.stop();
  }
}

function report({ waitsMs, orphans, settled }: Observer, where: string): void {
  const sorted = waitsMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const figures = { kills: KILLS, turns: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1), stuck: orphans.size };
  if (values.json) process.stdout.write(`${JSON.stringify({ ...figures, settled })}\n`);
  else {
    process.stdout.write(`${KILLS} × ${FAULT} among ${WORKERS} workers, ${CONVERSATIONS} conversations, ${where}\n`);
    process.stdout.write(
      `from the fault to the next claim, ms: p50 ${figures.p50}, p99 ${figures.p99}, max ${figures.max} ` +
        `(${figures.turns} turns, bound ${BOUND_MS}), ${figures.stuck} stuck, ${settled} settled\n`,
    );
  }
  if (figures.p99 > BOUND_MS || figures.stuck > 0) process.exitCode = 1;
}

await main();
