import { expect, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

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
}

async function startWorker(url: string, agents: string): Promise<WorkerProcess> {
  const env = { REDIS_URL: url, TURNFOLD_SHUTDOWN_MS: '2000', TURNFOLD_LOG_LEVEL: 'debug' };
  const worker = startWorkerProcess(env, agents);
  await worker.untilLogged('worker started');
  return worker;
}

/** Times between the return of a lease and the next claim of its turn, in ms. */
function measureGaps(log: readonly Logged[]): number[] {
  const inOrder = log.toSorted((a, b) => a.time - b.time);
  return inOrder.flatMap(({ event, conversation, time }, at) => {
    if (event !== 'lease_returned') return [];
    const next = inOrder.slice(at).find((one) => one.event === 'turn_claimed' && one.conversation === conversation);
    return [(next?.time ?? Number.POSITIVE_INFINITY) - time];
  });
}

test('rolling restarts of workers fail no turn whose model call outlasts a restart, and each turn continues within 4 s', async () => {
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  const client = await openClient({ redisUrl: redis.url });
  const conversations = Array.from({ length: TURNS }, (_, index) => `c${index}`);
  let workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(redis.url, model.agents)));
  const started = [...workers];
  for (const conversation of conversations) {
    await client.enqueueTurn({ conversation, agent: 'held', turn: 't1', input: 'hello' });
  }
  await model.untilCalled(TURNS);

  const codes: (number | null)[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const next: WorkerProcess[] = [];
    for (const worker of workers) {
      next.push(await startWorker(redis.url, model.agents));
      codes.push(await worker.stop());
    }
    started.push(...next);
    workers = next;
  }
  model.release();
  const views = await Promise.all(conversations.map((id) => client.result(id, 't1', { waitMs: 60_000 })));
  await client.close();

  expect(views.map(({ state }) => state)).toEqual(conversations.map(() => 'completed'));
  const log = started.flatMap(({ lines }) => lines as unknown as readonly Logged[]);
  const claims = log.filter(({ event }) => event === 'turn_claimed');
  expect(new Set(claims.map(({ attempt }) => attempt)), 'a stop counts as no attempt').toEqual(new Set([1]));
  const gaps = measureGaps(log);
  expect(gaps.length, 'turns that were handed back').toBeGreaterThanOrEqual(TURNS * ROUNDS);
  expect(Math.max(...gaps)).toBeLessThan(CLAIMED_WITHIN_MS);
  const CUT_OFF = 75;
  expect(codes).toContain(CUT_OFF);
  // A worker without a turn at its SIGTERM exits with 0.
  expect(codes.filter((code) => code !== 0 && code !== CUT_OFF)).toEqual([]);
});
