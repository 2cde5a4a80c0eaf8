import { afterEach, beforeEach, describe } from 'vitest';
import type { StoreHarness } from '../store-harness.ts';
import { describeCalibrationStore } from './calibration-store.ts';
import { describeContextStore } from './context-store.ts';
import { describeEventStore } from './event-store.ts';
import { describeIdleTtl } from './idle-ttl.ts';
import { describeListings } from './listings.ts';
import { describePassClaim } from './pass-claim.ts';
import { describePassEnd } from './pass-end.ts';
import { describePassReview } from './pass-review.ts';
import { describeSummaryStore } from './summary-store.ts';
import { describeSweepStore } from './sweep-store.ts';
import { describeVersionCommit } from './version-commit.ts';
import { describeVersionFork } from './version-fork.ts';
import { describeVersionReplacement } from './version-replacement.ts';
import { describeVersionRollback } from './version-rollback.ts';

const SUITES = {
  passes: (harness: () => StoreHarness) => {
    describePassClaim(harness);
    describePassEnd(harness);
    describePassReview(harness);
    describeVersionCommit(harness);
    describeVersionRollback(harness);
  },
  versions: (harness: () => StoreHarness) => {
    describeVersionReplacement(harness);
    describeVersionFork(harness);
  },
  contexts: describeContextStore,
  events: describeEventStore,
  listings: describeListings,
  summaries: describeSummaryStore,
  sweep: (harness: () => StoreHarness) => {
    describeSweepStore(harness);
    describeIdleTtl(harness);
  },
  calibrations: describeCalibrationStore,
} as const;

export const STORE_ROOMS = Object.keys(SUITES) as readonly (keyof typeof SUITES)[];

/** Contract of every implementation of the ports behind `Store`. */
export function describeStore(room: keyof typeof SUITES, name: string, open: () => StoreHarness): void {
  describe(`${room} in ${name}`, () => {
    let harness: StoreHarness | undefined;
    beforeEach(() => {
      harness = open();
    });
    afterEach(() => harness?.close());
    SUITES[room](() => {
      if (harness === undefined) throw new Error('used outside of a test');
      return harness;
    });
  });
}
