import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { openClient } from '../../src/client/index.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { startTurnfold } from './run-turnfold.ts';

const TURNS = 8;
const WORKERS = 2;
/** One more than a turn has attempts. */
const ROUNDS = TURN_LIMITS.maxAttempts + 1;
/** Far below the lease of 8 s that a worker leaves if it hands nothing back. Leaves room for a busy machine. */
const CLAIMED_WITHIN_MS = 4_000;

interface Logged {
  readonly event?: string;
  readonly conversation?: string;
  readonly attempt?: number;
  /** ms since epoch */
  readonly time: number;
  readonly msg: string;
}

interface Running {
  readonly process: ChildProcess;
  readonly started: Promise<void>;
}

/** A worker whose log goes behind that of the others. */
function startWorker(url: string, agents: string, log: Logged[]): Running {
  const env = { REDIS_URL: url, TURNFOLD_SHUTDOWN_MS: '2000', TURNFOLD_LOG_LEVEL: 'debug' };
  const worker = startTurnfold(['worker', '--agents', agents], env);
  if (worker.stdout === null) throw new Error('its output is not piped');
  const started = Promise.withResolvers<void>();
  createInterface({ input: worker.stdout }).on('line', (line) => {
    const logged = JSON.parse(line) as Logged;
    log.push(logged);
    if (logged.msg === 'worker started') started.resolve();
  });
  return { process: worker, started: started.promise };
}

/** From each time that a turn was handed back to its next claim, in ms. */
function measureGaps(log: readonly Logged[]): number[] {
  const inOrder = log.toSorted((a, b) => a.time - b.time);
  return inOrder.flatMap(({ event, conversation, time }, at) => {
    if (event !== 'lease_returned') return [];
    const next = inOrder.slice(at).find((one) => one.event === 'turn_claimed' && one.conversation === conversation);
    return [(next?.time ?? Number.POSITIVE_INFINITY) - time];
  });
}

test('rolling restarts amid model calls that outlast them fail no turn, and each goes on at once', async () => {
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  const log: Logged[] = [];
  const client = await openClient({ redisUrl: redis.url });
  const conversations = Array.from({ length: TURNS }, (_, index) => `c${index}`);
  let workers = Array.from({ length: WORKERS }, () => startWorker(redis.url, model.agents, log));
  await Promise.all(workers.map(({ started }) => started));
  for (const conversation of conversations) {
    await client.enqueueTurn({ conversation, agent: 'held', turn: 't1', input: 'hello' });
  }
  await model.untilCalled(TURNS);

  const codes: (number | null)[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const next: Running[] = [];
    for (const { process } of workers) {
      const other = startWorker(redis.url, model.agents, log);
      await other.started;
      next.push(other);
      const exited = once(process, 'exit');
      process.kill('SIGTERM');
      await exited;
      codes.push(process.exitCode);
    }
    workers = next;
  }
  model.release();
  const views = await Promise.all(conversations.map((id) => client.result(id, 't1', { waitMs: 60_000 })));
  await client.close();

  expect(views.map(({ state }) => state)).toEqual(conversations.map(() => 'completed'));
  const claims = log.filter(({ event }) => event === 'turn_claimed');
  expect(new Set(claims.map(({ attempt }) => attempt)), 'a stop counts as no attempt').toEqual(new Set([1]));
  const gaps = measureGaps(log);
  expect(gaps.length, 'turns that were handed back').toBeGreaterThanOrEqual(TURNS * ROUNDS);
  expect(Math.max(...gaps)).toBeLessThan(CLAIMED_WITHIN_MS);
  const CUT_OFF = 75;
  expect(codes).toContain(CUT_OFF);
  // A worker that held nothing just then has lost nothing.
  expect(codes.filter((code) => code !== 0 && code !== CUT_OFF)).toEqual([]);
}, 180_000);
