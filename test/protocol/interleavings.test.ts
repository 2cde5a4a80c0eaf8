import { describe, expect, it } from 'vitest';
import { Counterexample, type Explored, explore, walk } from './explore.ts';
import { MUTATIONS } from './mutations.ts';
import { seeded } from './random.ts';
import { exploreScenario, SCENARIOS, type Scenario } from './scenarios.ts';

const NONE = { lostWakes: 0, lostReplies: 0, deaths: 0, lapses: 0, all: 0 };
const ONE_OF_EACH = { lostWakes: 1, lostReplies: 1, deaths: 1, lapses: 1, all: 4 };
const KINDS = ['lostWakes', 'lostReplies', 'deaths'] as const;
const NO_LIMIT = { maxPaths: Number.POSITIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };
const SEED = 20_261_121;
const WALKS = 500;
/** Of what is too large for a test; `main.ts` goes on to the end. */
const BOUND = { maxPaths: 3_000, maxMs: Number.POSITIVE_INFINITY };

function print(what: string, explored: Explored): void {
  process.stdout.write(`${what} ${JSON.stringify(explored)}\n`);
}

function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name.includes(name));
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
}

describe('every interleaving keeps I1–I6, settles every turn once and in order, and comes to rest', () => {
  it.each(['two producers', 'a cancel', 'from outside', 'hard pass'])('without faults: %s', async (name) => {
    const explored = await explore(exploreScenario(scenarioOf(name), { faults: NONE, ...NO_LIMIT }));
    print(`${name}, no fault:`, explored);
    expect(explored.isComplete).toBe(true);
    expect(explored.ends).toBeGreaterThan(1);
  });

  it.each(['two producers', 'from outside'].flatMap((name) => KINDS.map((fault) => ({ name, fault }))))(
    'with one of $fault: $name',
    async ({ name, fault }) => {
      const faults = { ...NONE, [fault]: 1, all: 1 };
      const explored = await explore(exploreScenario(scenarioOf(name), { faults, ...NO_LIMIT }));
      print(`${name}, one of ${fault}:`, explored);
      expect(explored.isComplete).toBe(true);
    },
  );

  it.each(['two producers', 'from outside'])('with one fault of each kind, to a bound: %s', async (name) => {
    const explored = await explore(exploreScenario(scenarioOf(name), { faults: ONE_OF_EACH, ...BOUND }));
    print(`${name}, one of each, bounded:`, explored);
    expect(explored.states).toBeGreaterThan(1_000);
  });

  it.each(SCENARIOS)(
    `on ${WALKS} walks with one fault of each kind, seed ${SEED}: $name`,
    { timeout: 60_000 },
    async (scenario) => {
      const bounds = { faults: ONE_OF_EACH, maxPaths: WALKS, maxMs: Number.POSITIVE_INFINITY };
      const { paths } = await walk(exploreScenario(scenario, bounds), seeded(SEED));
      expect(paths).toBe(WALKS);
    },
  );
});

describe('a store that is broken', () => {
  it.each(MUTATIONS)('is noticed by $invariant: $name', async ({ scenario, faults, mutate, invariant, byChance }) => {
    const bounds = { faults: { ...NONE, ...faults }, maxPaths: 5_000, maxMs: 15_000 };
    const exploration = exploreScenario(scenarioOf(scenario), bounds, mutate);
    const search = byChance ? walk(exploration, seeded(SEED)) : explore(exploration);
    const error: unknown = await search.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Counterexample);
    expect((error as Counterexample).message).toMatch(new RegExp(`^${invariant}:`));
  });
});
