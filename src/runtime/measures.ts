import type { SweepStore } from '../domain/ports/sweep-store.ts';
import type { OpenWakeQueue } from '../queue/wake-queue.ts';
import type { StoreMeasures } from '../store/measures.ts';
import type { Measures } from '../telemetry/measures.ts';
import type { Calibrations } from '../workers/calibrations.ts';
import type { MeasuringLease } from './measuring-lease.ts';

export interface MeasureParts {
  readonly store: Pick<SweepStore, 'measureShards'>;
  readonly measures: StoreMeasures;
  readonly wakes: Pick<OpenWakeQueue, 'countJobs' | 'readShardWaits'>;
  readonly calibrations: Pick<Calibrations, 'factors'>;
  readonly lease: Pick<MeasuringLease, 'ask'>;
}

/** Where the gauges' figures come from. */
export function createMeasures({ store, measures, wakes, calibrations, lease }: MeasureParts): Measures {
  return {
    isMeasuring: () => lease.ask(),
    ping: () => measures.ping(),
    countJobs: () => wakes.countJobs(),
    measureWaits: () => measureWaits(wakes),
    measureShards: () => store.measureShards(),
    measureServers: () => measures.measureServers(),
    readCalibrations: async () => calibrations.factors,
  };
}

/** Of each queue the longest of all shards. */
async function measureWaits(wakes: MeasureParts['wakes']): Promise<ReadonlyMap<string, number>> {
  const byQueue = Map.groupBy(await wakes.readShardWaits(), ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, shards]) => [queue, Math.max(...shards.map(({ waitMs = 0 }) => waitMs))]));
}
