/**
 * Checks compaction of random histories: `npm run properties -- --runs 20000 [--long 200] [--seed 1]`. Each history
 * runs twice. If a check is broken, prints the smallest history that breaks it and exits with code 1.
 */
import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { longScenarios, playTwice, type Scenario, scenarios } from './play.ts';
import { Tally } from './tally.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20000' },
    long: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seed = Number(values.seed);
const counter = await loadTokenCounter('o200k_base');
const tally = new Tally();

async function check(arbitrary: fc.Arbitrary<Scenario>, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(arbitrary, async (scenario) => {
    const played = await playTwice(scenario, counter);
    tally.add(played);
    const broken = played?.breaches ?? [];
    if (broken.length > 0) throw new Error(broken.join('\n'));
  });
  await fc.assert(property, { numRuns, seed });
}

// Keeps the process alive while a summarizer hangs, because the timers of call timeouts do not keep it alive.
const alive = setInterval(() => undefined, 60_000);
const startMs = performance.now();
await check(scenarios, Number(values.runs));
await check(longScenarios, Number(values.long));
clearInterval(alive);
const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
process.stdout.write(
  `${values.runs} histories and ${values.long} of 1,000 to 10,000 messages, each twice, seed ${seed}, ${seconds} s: none broken\n`,
);
for (const [end, passes] of tally.counts) process.stdout.write(`${String(passes).padStart(7)}  ${end}\n`);
