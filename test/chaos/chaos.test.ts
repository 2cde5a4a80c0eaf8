import { describe, expect, test } from 'vitest';
import { hasRedisServer } from './mortal-redis.ts';
import { describeReport } from './report.ts';
import { runChaos, USUAL } from './run.ts';

const TURNS = 200;

describe.skipIf(!hasRedisServer)('under harm of every kind (skipped without redis-server)', () => {
  test('nothing is lost, twice, out of order or stuck', async () => {
    const seed = Date.now() % 1_000_000;
    const report = await runChaos({ ...USUAL, seed, turns: TURNS, conversations: 20, workers: 3, minutes: 0.3 });
    expect(report.findings, describeReport(report)).toEqual([]);
    const { completed = 0 } = report.turns;
    expect(completed, describeReport(report)).toBeGreaterThan(TURNS / 2);
    expect(report.harm.workerKills).toBeGreaterThan(3);
  }, 240_000);
});
