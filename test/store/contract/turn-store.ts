import { afterAll, beforeAll, describe } from 'vitest';
import type { TurnHarness } from '../turn-harness.ts';
import { describeAccept } from './turn-accept.ts';
import { describeBriefing } from './turn-briefing.ts';
import { describeClaim } from './turn-claim.ts';
import { describeEnd } from './turn-end.ts';
import { describeOpenTurns } from './turn-open.ts';
import { describeRedrive } from './turn-redrive.ts';
import { describeRelease } from './turn-release.ts';
import { describeSteps } from './turn-steps.ts';
import { describeTraces } from './turn-traces.ts';
import { describeTransitions } from './turn-transitions.ts';
import { describeWaits } from './turn-waits.ts';

/** Contract of every implementation of `TurnStore` and `TurnIntake`. */
export function describeTurnStore(name: string, open: () => TurnHarness): void {
  describe(`turns in ${name}`, () => {
    let harness: TurnHarness | undefined;
    beforeAll(() => {
      harness = open();
    });
    afterAll(() => harness?.close());
    const opened = (): TurnHarness => {
      if (harness === undefined) throw new Error('used before the suite has begun');
      return harness;
    };
    describeAccept(opened);
    describeClaim(opened);
    describeBriefing(opened);
    describeSteps(opened);
    describeWaits(opened);
    describeRelease(opened);
    describeEnd(opened);
    describeRedrive(opened);
    describeOpenTurns(opened);
    describeTraces(opened);
    describeTransitions(opened);
  });
}
