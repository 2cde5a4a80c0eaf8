import * as fc from 'fast-check';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { type BpeTokenCounter, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { countRuns } from '../setup/count-runs.ts';
import { longScenarios, playTwice, type Scenario, scenarios } from './play.ts';
import { Tally } from './tally.ts';

const RUNS = countRuns(500);
const LONG_RUNS = 2;

let counter: BpeTokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

async function playAll(arbitrary: fc.Arbitrary<Scenario>, numRuns: number): Promise<Tally> {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(arbitrary, async (scenario) => {
      const played = await playTwice(scenario, counter);
      expect(played?.breaches ?? []).toEqual([]);
      tally.add(played);
    }),
    { numRuns },
  );
  return tally;
}

/** `npm run properties -- --runs 20000` runs the same checks on more histories. */
describe('passes over random histories, policies and summarizers', () => {
  test('compaction of random histories breaks no invariant, and a second run gives the same result', async () => {
    const tally = await playAll(scenarios, RUNS);
    const steps = ['drop', 'mask', 'summarize', 'evict', 'clip', 'relax'].map((step) => `step ${step}`);
    const ends = ['version', 'infeasible', 'retention_floor', 'nothing_removable', 'no_token_reason', 'floor relaxed'];
    // With fewer runs, a rare outcome may not occur.
    if (RUNS < 500) return;
    for (const end of [...steps, ...ends]) expect(tally.countOf(end), end).toBeGreaterThan(0);
  }, 240_000);

  // With `npm run test:faults` only.
  test.runIf(inject('isThorough'))(
    'compaction of histories with thousands of messages breaks no invariant, and a second run gives the same result',
    async () => {
      expect((await playAll(longScenarios, LONG_RUNS)).counts).not.toEqual([]);
    },
    240_000,
  );
});
