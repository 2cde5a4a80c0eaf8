import * as fc from 'fast-check';
import { type CommittedPass, isCommitted } from './fates.ts';
import type { TakenPass } from './passes.ts';
import { playScenario, scenarios } from './scenarios.ts';

export const RUNS = { numRuns: 1_000 };

export function forEachPass(check: (pass: TakenPass) => void): void {
  fc.assert(
    fc.property(scenarios, (scenario) => playScenario(scenario).forEach(check)),
    RUNS,
  );
}

export function forEachVersion(check: (pass: CommittedPass) => void): void {
  forEachPass((pass) => {
    if (isCommitted(pass)) check(pass);
  });
}
