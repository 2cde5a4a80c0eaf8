import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openClient } from '../src/api/client/index.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';

function readNumber(name: string, otherwise: number): number {
  const prefix = `--${name}=`;
  return Number(process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length) ?? otherwise);
}

const WORKERS = 3;
const CONVERSATIONS = sampleSize(40, 4);
const TURNS_EACH = sampleSize(3, 1);
const EVERY_MS = sampleSize(5_000, 1_000);
const ROUNDS = readNumber('rounds', sampleSize(20, 1));
const SHUTDOWN_MS = readNumber('shutdown-ms', 4_000);
const CALL_MS = readNumber('call-ms', sampleSize(20_000, 500));
const SETTLED_WITHIN_MS = 300_000;

interface Line {
  readonly type: string;
  readonly turn: string;
  readonly at: number;
  readonly what?: string;
  readonly outcome?: string;
  readonly why?: string;
  readonly isCutOff?: boolean;
}

const lines: Line[] = [];
async function startWorker(redisUrl: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./rolling-worker.ts', import.meta.url));
  const args = [script, redisUrl, String(SHUTDOWN_MS), String(CALL_MS)];
  const worker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const started = Promise.withResolvers<void>();
  createInterface({ input: worker.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.type === 'started') started.resolve();
    lines.push(line);
  });
  const failed = once(worker, 'exit').then(() =>
    Promise.reject(new Error('the worker process exited before it reported that it had started')),
  );
  failed.catch(() => undefined); // every worker exits in the end, which must not be an unhandled rejection
  await Promise.race([started.promise, failed]);
  return worker;
}

/** Starts a successor for every worker, and sends SIGTERM to the old worker. */
async function restartAll(workers: readonly ChildProcess[], redisUrl: string): Promise<ChildProcess[]> {
  return await Promise.all(
    workers.map(async (old) => {
      const next = await startWorker(redisUrl);
      const exited = once(old, 'close');
      old.kill('SIGTERM');
      await exited;
      return next;
    }),
  );
}

function tally(values: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value ?? 'none'] = (counts[value ?? 'none'] ?? 0) + 1;
  return counts;
}

/** Measures the time from each handed-back turn to its next claim. */
function measureGaps(): number[] {
  const inOrder = lines.toSorted((a, b) => a.at - b.at);
  const gaps: number[] = [];
  const waiting = new Map<string, number>();
  for (const { type, what, turn, at } of inOrder) {
    if (type === 'lease_returned' && what === 'turn') waiting.set(turn, at);
    const since = waiting.get(turn);
    if (type !== 'turn_claimed' || since === undefined) continue;
    gaps.push(at - since);
    waiting.delete(turn);
  }
  return gaps.toSorted((a, b) => a - b);
}

const redis = await openBenchRedis();
const client = await openClient({ redisUrl: redis.url, shards: 16 });
let workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(redis.url)));
const turns: { readonly conversation: string; readonly turn: string }[] = [];
for (let index = 0; index < CONVERSATIONS; index += 1) {
  const conversation = `c${index}`;
  const input = `${index % 4 === 0 ? 'long' : 'short'} ${' word'.repeat(300)}`;
  for (let count = 0; count < TURNS_EACH; count += 1) {
    const { turn } = await client.enqueueTurn({ conversation, agent: 'busy', input });
    turns.push({ conversation, turn });
  }
}
for (let round = 0; round < ROUNDS; round += 1) {
  const next = sleep(EVERY_MS);
  workers = await restartAll(workers, redis.url);
  await next;
}
const views = await Promise.all(
  turns.map(({ conversation, turn }) => client.result(conversation, turn, { waitMs: SETTLED_WITHIN_MS })),
);
const gaps = measureGaps();
const at = (share: number): number | undefined => gaps[Math.min(gaps.length - 1, Math.floor(share * gaps.length))];
const of = (type: string): Line[] => lines.filter((line) => line.type === type);
const report = {
  restarts: `${ROUNDS} of all ${WORKERS} workers, every ${EVERY_MS} ms, calls of ${CALL_MS} ms, shutdown ${SHUTDOWN_MS} ms`,
  turns: tally(views.map(({ state, failure }) => failure?.code ?? state)),
  handedBack: tally(of('lease_returned').map(({ what, isCutOff }) => `${what}${isCutOff === true ? ' cut off' : ''}`)),
  gapMs: { count: gaps.length, p50: at(0.5), p99: at(0.99), most: gaps.at(-1) },
  leasesLost: tally(of('lease_lost').map(({ why }) => why)),
  tools: tally(of('tool_called').map(({ outcome }) => outcome)),
  passes: tally(of('pass_ended').map(({ outcome }) => outcome)),
  summaries: tally(of('summary_ended').map(({ outcome }) => outcome)),
  stops: tally(of('stopped').map(({ outcome }) => outcome)),
};
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
for (const worker of workers) worker.kill('SIGTERM');
await Promise.all(workers.map((worker) => once(worker, 'close')));
await client.close();
await redis.stop();
