import { expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { describeReport } from './report.ts';
import { runChaos } from './run.ts';

const TURNS = 200;

test.skipIf(!hasRedisServer)(
  'no turn is lost, settled twice, out of order or stuck while workers, Redis, connections and the provider fail',
  async () => {
    const seed = Date.now() % 1_000_000;
    const report = await runChaos({ seed, turns: TURNS, conversations: 20, workers: 3, minutes: 0.3 });
    expect(report.findings, describeReport(report)).toEqual([]);
    const { completed = 0 } = report.turns;
    expect(completed, describeReport(report)).toBeGreaterThan(TURNS / 2);
    expect(report.faults.workerKills).toBeGreaterThan(3);
  },
  240_000,
);
