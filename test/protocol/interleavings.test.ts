import { describe, expect, it } from 'vitest';
import { type Faults, NO_FAULTS } from './choices.ts';
import { Counterexample, type Explored, explore, walk } from './explore.ts';
import { MUTATIONS } from './mutations.ts';
import { seeded } from './random.ts';
import { exploreScenario, SCENARIOS, type Scenario } from './scenarios.ts';

const ONE_OF_EACH: Faults = { lostWakes: 1, lostReplies: 1, deaths: 1, lapses: 1, all: 4 };
const KINDS = ['lostWakes', 'lostReplies', 'deaths'] as const;
const NO_LIMIT = { maxSteps: Number.POSITIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY };
const SEED = 20_261_121;
const WALKS = 200;
/** Of what is too large for a test; `main.ts` goes on to the end. */
const BOUND = { maxSteps: 5_000, maxMs: Number.POSITIVE_INFINITY };

/** Too large for a test even without a fault. */
const LARGE: ReadonlySet<string> = new Set(['two turns and a soft pass', 'a pass with two children and a turn']);
const SMALL = SCENARIOS.filter(({ name }) => !LARGE.has(name));

function print(what: string, { states, steps, ends, longest, isComplete }: Explored): void {
  process.stdout.write(`${what} ${JSON.stringify({ states, steps, ends: ends.size, longest, isComplete })}\n`);
}

function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name.includes(name));
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
}

function oneOf(fault: (typeof KINDS)[number] | 'lapses'): Faults {
  return { ...NO_FAULTS, [fault]: 1, all: 1 };
}

describe('every interleaving keeps I1–I6, settles every turn once and in order, and comes to rest', () => {
  it.each(SMALL)('without faults: $name', async (scenario) => {
    const explored = await explore(exploreScenario(scenario, { faults: NO_FAULTS, ...NO_LIMIT }));
    print(`${scenario.name}, no fault:`, explored);
    expect(explored.isComplete).toBe(true);
    expect(explored.states).toBeGreaterThan(5);
  });

  it.each(['two producers', 'from outside'].flatMap((name) => KINDS.map((fault) => ({ name, fault }))))(
    'with one of $fault: $name',
    async ({ name, fault }) => {
      const explored = await explore(exploreScenario(scenarioOf(name), { faults: oneOf(fault), ...NO_LIMIT }));
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
      const exploration = exploreScenario(scenario, { faults: ONE_OF_EACH, ...NO_LIMIT });
      const { paths } = await walk(exploration, { paths: WALKS, random: seeded(SEED) });
      expect(paths).toBe(WALKS);
    },
  );
});

describe('a search that leaves out what leads to nothing new', () => {
  it.each([
    { name: 'one turn', faults: oneOf('lapses') },
    { name: 'one turn', faults: { ...ONE_OF_EACH, lapses: 0, all: 2 } },
    { name: 'two producers', faults: NO_FAULTS },
    { name: 'a cancel', faults: NO_FAULTS },
    { name: 'from outside', faults: NO_FAULTS },
    { name: 'hard pass', faults: NO_FAULTS },
    ...['two producers', 'from outside'].flatMap((name) => KINDS.map((kind) => ({ name, faults: oneOf(kind) }))),
  ])('finds what one finds that leaves out nothing: $name, $faults', async ({ name, faults }) => {
    const exploration = { ...exploreScenario(scenarioOf(name), { faults, ...NO_LIMIT }), notesStored: true };
    const whole = await explore({ ...exploration, isUnreduced: true });
    const reduced = await explore(exploration);
    expect(reduced.ends).toEqual(whole.ends);
    expect(reduced.stored).toEqual(whole.stored);
    expect(reduced.states).toBeLessThanOrEqual(whole.states);
  });
});

describe('a store that is broken', () => {
  it.each(MUTATIONS)('is noticed by $invariant: $name', async ({ scenario, faults, mutate, invariant, byChance }) => {
    const bounds = { faults: { ...NO_FAULTS, ...faults }, maxSteps: 5_000, maxMs: 15_000 };
    const exploration = exploreScenario(scenarioOf(scenario), bounds, mutate);
    const search = byChance ? walk(exploration, { paths: 5_000, random: seeded(SEED) }) : explore(exploration);
    const error: unknown = await search.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Counterexample);
    expect((error as Counterexample).message).toMatch(new RegExp(`^${invariant}:`));
  });
});
