import { expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { describeReport } from './report.ts';
import { runChaos } from './run.ts';

const CONVERSATIONS = 20;

test.skipIf(!hasRedisServer)(
  'no turn is lost, settled twice, out of order or stuck while workers, Redis, connections and the provider fail',
  async () => {
    const seed = Date.now() % 1_000_000;
    const report = await runChaos({ seed, turns: 200, conversations: CONVERSATIONS, workers: 3, minutes: 1 });
    expect(report.findings, describeReport(report)).toEqual([]);
    const { completed = 0 } = report.turns;
    expect(completed, describeReport(report)).toBeGreaterThan(CONVERSATIONS);
    expect(report.faults.workerKills).toBeGreaterThan(3);
  },
  240_000,
);
