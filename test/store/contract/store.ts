import { afterEach, beforeEach, describe } from 'vitest';
import { openEmbeddedStoreHarness, openRedisStoreHarness, type StoreHarness } from '../store-harness.ts';
import { describeAccessKeyStore } from './access-key-store.ts';
import { describeCalibrationStore } from './calibration-store.ts';
import { describeContextStore } from './context-store.ts';
import { describeEventStore } from './event-store.ts';
import { Given } from './fixture.ts';
import { describeIdleTtl } from './idle-ttl.ts';
import { describeLapsedLeases } from './lapsed-leases.ts';
import { describeListings } from './listings.ts';
import { describePacking } from './packing.ts';
import { describePassClaim } from './pass-claim.ts';
import { describePassEnd } from './pass-end.ts';
import { describePassReview } from './pass-review.ts';
import { describeSpending } from './spending.ts';
import { describeStoppedText } from './stopped-text.ts';
import { describeStreams } from './streams.ts';
import { describeSummaryStore } from './summary-store.ts';
import { describeSweepStore } from './sweep-store.ts';
import { describeAccept } from './turn-accept.ts';
import { describeBriefing } from './turn-briefing.ts';
import { describeBusyTurns } from './turn-busy.ts';
import { describeClaim } from './turn-claim.ts';
import { describeEnd } from './turn-end.ts';
import { describeOpenTurns } from './turn-open.ts';
import { describeRecordedWaits } from './turn-recorded-waits.ts';
import { describeRedrive } from './turn-redrive.ts';
import { describeRelease } from './turn-release.ts';
import { describeSteps } from './turn-steps.ts';
import { describeTraces } from './turn-traces.ts';
import { describeTransitions } from './turn-transitions.ts';
import { describeWaits } from './turn-waits.ts';
import { describeVersionCommit } from './version-commit.ts';
import { describeVersionFork } from './version-fork.ts';
import { describeVersionReplacement } from './version-replacement.ts';
import { describeVersionRollback } from './version-rollback.ts';
import { describeWebhookStore } from './webhook-store.ts';

const SUITES = {
  turns: [
    describeAccept,
    describeBusyTurns,
    describeClaim,
    describeBriefing,
    describeSteps,
    describeRecordedWaits,
    describeWaits,
    describeRelease,
    describeEnd,
    describeRedrive,
    describeOpenTurns,
    describeTraces,
    describeTransitions,
  ],
  passes: [describePassClaim, describePassEnd, describePassReview, describeVersionCommit, describeVersionRollback],
  versions: [describeVersionReplacement, describeVersionFork],
  contexts: [describeContextStore],
  packing: [describePacking],
  events: [describeEventStore],
  listings: [describeListings],
  streams: [describeStreams, describeStoppedText],
  summaries: [describeSummaryStore],
  spending: [describeSpending],
  sweep: [describeSweepStore, describeLapsedLeases, describeIdleTtl],
  calibrations: [describeCalibrationStore],
  keys: [describeAccessKeyStore],
  webhooks: [describeWebhookStore],
} as const;

export const STORE_ROOMS = Object.keys(SUITES) as readonly (keyof typeof SUITES)[];

/** Contract tests of the store, which run over a server and over the embedded Redis. */
export function describeStore(room: keyof typeof SUITES, name: string, open: () => StoreHarness): void {
  describe(`${room} in ${name}`, () => {
    let opened: StoreHarness | undefined;
    beforeEach(() => {
      opened = open();
    });
    afterEach(() => opened?.close());
    const harness = (): StoreHarness => {
      if (opened === undefined) throw new Error('used outside of a test');
      return opened;
    };
    for (const describeSuite of SUITES[room]) describeSuite(new Given(harness));
  });
}

/** Runs the contract against the Redis in this process, and against a server. */
export function describeBothStores(room: keyof typeof SUITES): void {
  describeStore(room, 'the in-process Redis', openEmbeddedStoreHarness);
  describeStore(room, 'Redis', openRedisStoreHarness);
}
