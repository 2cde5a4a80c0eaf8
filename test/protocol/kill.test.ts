import { describe, expect, it } from 'vitest';
import { Random } from '../setup/random.ts';
import { readDueTimes } from '../store/stored-conversation.ts';
import { CALL_FAULTS, type CallFault, type KillRun, type KillScenario, runWithFaults } from './kill-run.ts';
import { KILL_SCENARIOS } from './kill-scenarios.ts';
import { normalize, normalizeOutcome } from './normal-form.ts';
import type { World } from './world.ts';

const PAIRS = 60;
const SEED = 20_261_121;

type Faults = ReadonlyMap<number, CallFault>;

/** Runs the scenario with faults and compares its end with the run without faults. */
async function expectSameEnd(
  scenario: KillScenario,
  whole: KillRun,
  { faults, form }: { readonly faults: Faults; readonly form: (world: World) => unknown },
): Promise<KillRun> {
  const label = [...faults].map(([number, fault]) => `${fault} ${number} ${whole.calls[number - 1] ?? ''}`).join(', ');
  const run = await runWithFaults(scenario, faults).catch((error: unknown) => {
    throw new Error(`${label}: ${String(error)}`, { cause: error });
  });
  expect(form(run.world), label).toEqual(form(whole.world));
  return run;
}

describe.each(KILL_SCENARIOS)('$name', (scenario) => {
  const { name } = scenario;
  // With an outage, a delivery may end early. A turn may then miss its deadline and take over the pass.
  it.each([
    ['a process dies before', 'before', scenario.isRacing ? normalizeOutcome : normalize],
    ['a process dies after', 'after', scenario.isRacing ? normalizeOutcome : normalize],
    ['the connection repeats', 'again', scenario.isRacing ? normalizeOutcome : normalize],
    ['the caller gets an outage for', 'unanswered', normalizeOutcome],
  ] as const)(`the scenario ${name} ends in the same state if %s any one store call`, async (_, fault, form) => {
    const whole = await runWithFaults(scenario);
    expect(whole.calls.length).toBeGreaterThan(10);
    expect(readDueTimes(whole.world.db).size).toBe(0);
    for (let number = 1; number <= whole.calls.length; number += 1) {
      const { faults } = await expectSameEnd(scenario, whole, { faults: new Map([[number, fault]]), form });
      if (fault === 'before' || fault === 'after') expect(faults).toBe(1);
    }
  });

  it(`the scenario ${name} loses and repeats nothing with two faults, seed ${SEED}`, async () => {
    const random = new Random(SEED);
    const whole = await runWithFaults(scenario);
    let both = 0;
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = random.between(1, whole.calls.length);
      const second = first + random.between(1, whole.calls.length);
      const faults: Faults = new Map([first, second].map((number) => [number, random.pick(CALL_FAULTS)]));
      const run = await expectSameEnd(scenario, whole, { faults, form: normalizeOutcome });
      if (run.faults === 2) both += 1;
    }
    expect(both).toBeGreaterThan(PAIRS / 4);
  });
});
