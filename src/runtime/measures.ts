import type { SweepStore } from '../domain/ports/sweep-store.ts';
import { QUEUES } from '../jobs/names.ts';
import type { OpenWakeQueue } from '../queue/wake-queue.ts';
import type { StoreMeasures } from '../store/measures/measures.ts';
import type { Measures } from '../telemetry/measures.ts';
import type { Calibrations } from '../workers/calibrations.ts';
import type { MeasuringLease } from './measuring-lease.ts';

export interface MeasureParts {
  readonly store: Pick<SweepStore, 'measureShards'>;
  readonly measures: StoreMeasures;
  readonly wakes: Pick<OpenWakeQueue, 'countJobs' | 'readOldestWaits'>;
  readonly calibrations: Pick<Calibrations, 'factors'>;
  readonly lease: Pick<MeasuringLease, 'ask'>;
}

/** Where the gauges' figures come from. */
export function createMeasures({ store, measures, wakes, calibrations, lease }: MeasureParts): Measures {
  return {
    isMeasuring: () => lease.ask(),
    ping: () => measures.ping(),
    countJobs: () => wakes.countJobs(),
    measureWaiting: () => measureWaiting(wakes),
    measureShards: () => store.measureShards(),
    measureServers: () => measures.measureServers(),
    readCalibrations: async () => calibrations.factors,
  };
}

/**
 * A conversation whose turns wait for a worker has one wake in the turn queue, however many turns it has: those behind the
 * first could not be taken by another worker. To count them, too, every accept and every end of a turn would have to.
 */
async function measureWaiting(wakes: MeasureParts['wakes']) {
  const [counts, waits] = await Promise.all([wakes.countJobs(), wakes.readOldestWaits()]);
  const waiting = counts.filter(
    ({ queue, state }) => queue === QUEUES.turn && state !== 'active' && state !== 'failed',
  );
  return {
    turns: waiting.reduce((sum, { count }) => sum + count, 0),
    oldestMs: new Map(waits.map(({ queue, waitMs }) => [queue, waitMs])),
  };
}
