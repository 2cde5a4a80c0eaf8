import { expect, onTestFinished, test } from 'vitest';
import { GateWorld, type SimulatedLoad, simulate, type Treatment } from './gate-world.ts';
import { openSuiteRedis } from './open-redis.ts';

/** A provider that answers a number of calls in each second, and refuses the others at once. */
function limitedProvider(perSecond: number, answerMs: number, retryAfterMs?: number): (now: number) => Treatment {
  const bySecond = new Map<number, number>();
  return (now) => {
    const second = Math.floor(now / 1_000);
    const count = (bySecond.get(second) ?? 0) + 1;
    bySecond.set(second, count);
    return count > perSecond ? { refusedMs: 50, retryAfterMs } : { answerMs };
  };
}

/** The same numbers for each run, from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

async function run(load: Omit<SimulatedLoad, 'gate' | 'random'>) {
  const suite = openSuiteRedis();
  const gate = `goals-${suite.keyspace.firstShard}`;
  onTestFinished(async () => {
    const { state, waiters, due, present, calls } = suite.keyspace.gate(gate);
    await suite.redis.del(state, waiters, due, present, calls);
    await suite.redis.zrem(suite.keyspace.gates(), gate);
    await suite.close();
  });
  const turns = await simulate(new GateWorld(suite), { gate, random: seeded(7), ...load });
  const times = turns.map(({ arrivedMs, endedMs }) => endedMs - arrivedMs).toSorted((a, b) => a - b);
  return {
    turns,
    lastMs: Math.max(...turns.map(({ endedMs }) => endedMs)),
    p95Ms: times[Math.ceil(times.length * 0.95) - 1] ?? Number.POSITIVE_INFINITY,
    callsPerTurn: turns.reduce((sum, { calls }) => sum + calls, 0) / turns.length,
  };
}

const cases = [
  { turns: 60, perSecond: 1 },
  { turns: 100, perSecond: 5 },
].flatMap((load) => [0, 5_000, 20_000].map((answerMs) => ({ ...load, answerMs })));

test.each([
  ...cases.map((load) => ({ ...load, retryAfterMs: 1_000 })),
  ...cases.map((load) => ({ ...load, retryAfterMs: undefined })),
  { turns: 1_000, perSecond: 10, answerMs: 20_000, retryAfterMs: 1_000 },
  { turns: 4_000, perSecond: 100, answerMs: 0, retryAfterMs: 1_000 },
])(
  '$turns turns at a rate limit of $perSecond calls/s of $answerMs ms end within twice the ideal time (retry after $retryAfterMs ms)',
  async ({ turns, perSecond, answerMs, retryAfterMs }) => {
    const ended = await run({ turns, treat: limitedProvider(perSecond, answerMs, retryAfterMs) });
    const idealMs = (turns / perSecond) * 1_000 + answerMs;
    expect(ended.lastMs).toBeLessThanOrEqual(2 * idealMs);
    expect(ended.p95Ms).toBeLessThanOrEqual(2 * ((turns * 950) / perSecond + answerMs));
    expect(ended.callsPerTurn).toBeLessThanOrEqual(3);
  },
  120_000,
);

test('refusals of 2 % of calls without a retry time do not slow 10 calls a second of 20 s each', async () => {
  const random = seeded(3);
  const ended = await run({
    turns: 3_000,
    arriveMs: (turn) => turn * 100,
    treat: () => (random() < 0.02 ? { refusedMs: 50 } : { answerMs: 20_000 }),
  });
  expect(ended.lastMs).toBeLessThanOrEqual(2 * 320_000);
  expect(ended.p95Ms).toBeLessThanOrEqual(2 * 20_000);
  expect(ended.callsPerTurn).toBeLessThanOrEqual(1.1);
}, 120_000);

test('a chain of models calls its first model again right after that model’s only pause', async () => {
  let refusals = 0;
  const { turns } = await run({
    turns: 300,
    arriveMs: (turn) => turn * 1_000,
    hasFallback: true,
    treat: () => {
      if (refusals > 0) return { answerMs: 1_000 };
      refusals += 1;
      return { refusedMs: 50, retryAfterMs: 1_000 };
    },
  });
  expect(turns.filter(({ isElsewhere }) => isElsewhere).length).toBeLessThanOrEqual(3);
  expect(turns.slice(5).filter(({ isElsewhere }) => isElsewhere)).toEqual([]);
});

test.each([20_000, undefined])(
  'turns of a provider that refuses calls for 20 minutes end soon after that time (retry after %s ms)',
  async (retryAfterMs) => {
    const healthy = limitedProvider(1, 1_000, 1_000);
    let beganAt: number | undefined;
    const ended = await run({
      turns: 60,
      treat: (now) => {
        beganAt ??= now;
        return now - beganAt < 1_200_000 ? { refusedMs: 50, retryAfterMs } : healthy(now);
      },
    });
    expect(ended.lastMs).toBeLessThanOrEqual(1_200_000 + 30_000 + 2 * 60_000);
    expect(ended.callsPerTurn).toBeLessThanOrEqual(3.5);
  },
);

test('a canceled turn at a rate-limit gate frees its place in the line for other turns', async () => {
  const concurrent = { concurrent: 1 };
  const { lastMs } = await run({
    turns: 20,
    settings: concurrent,
    cancelMs: (turn) => (turn > 0 && turn <= 10 ? 1_500 : undefined),
    treat: () => ({ answerMs: 5_000 }),
  }).then(({ turns }) => ({
    lastMs: Math.max(...turns.map(({ endedMs }) => endedMs).filter((endedMs) => Number.isFinite(endedMs))),
  }));
  expect(lastMs).toBeLessThanOrEqual(1.5 * 10 * 5_000);
});
