import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { raceVerbs } from './race-verbs.ts';
import { type Verb, VerbRun, verbs } from './run-verbs.ts';
import { openWorld, type World } from './world.ts';

/** Sequences of each test. By hand: `VERB_RUNS=100000 npx vitest run --project faults test/verbs`. */
const RUNS = Number(process.env['VERB_RUNS'] ?? 400);
/** Sequences at the same time, each over conversations of its own. */
const LANES = 8;
const SEED = Number(process.env['PROPERTY_SEED'] ?? 1);
const DAY_MS = 86_400_000;

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function playAll(play: (sequence: readonly Verb[]) => Promise<void>): Promise<void> {
  const property = fc.asyncProperty(verbs, play);
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(property, { numRuns: Math.ceil(RUNS / LANES), seed: SEED * 1_000 + lane }),
  );
  await Promise.all(lanes);
}

test('any sequence of client calls on a fresh conversation leads to the expected turns, log and context', {
  timeout: DAY_MS,
}, async () => {
  const played = playAll((sequence) => new VerbRun(world).play(sequence));
  await expect(played).resolves.toBeUndefined();
});

test('any sequence of client calls made without waiting for workers settles every turn, each with its own outcome', {
  timeout: DAY_MS,
}, async () => {
  const played = playAll((sequence) => raceVerbs(world, sequence));
  await expect(played).resolves.toBeUndefined();
});
