import * as fc from 'fast-check';
import { countRuns } from '../setup/count-runs.ts';
import type { TakenPass } from './passes.ts';
import { playScenario, type Scenario, scenarios } from './scenarios.ts';

export const RUNS = countRuns(5_000);

/** A scenario with all its compaction passes. */
export interface Played {
  readonly scenario: Scenario;
  readonly passes: readonly TakenPass[];
}

let played: readonly Played[] | undefined;

/** Plays the scenarios of a property once for all properties of a file, because playing takes most of their time. */
export function playAll(): readonly Played[] {
  played ??= fc
    .sample(scenarios, { numRuns: RUNS, seed: fc.readConfigureGlobal().seed ?? 1 })
    .map((scenario) => ({ scenario, passes: playScenario(scenario) }));
  return played;
}

/** Checks every scenario. After a failure, fast-check looks for a smaller scenario that fails, too. */
export function forEachPlayed(check: (given: Played) => void): void {
  try {
    playAll().forEach(check);
  } catch (error) {
    fc.assert(
      fc.property(scenarios, (scenario) => check({ scenario, passes: playScenario(scenario) })),
      { numRuns: RUNS },
    );
    throw error;
  }
}
