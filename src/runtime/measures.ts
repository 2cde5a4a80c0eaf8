import type { Clock } from '../domain/ports/clock.ts';
import type { SweepStore } from '../domain/ports/sweep-store.ts';
import type { OpenWakeQueue } from '../queue/wake-queue.ts';
import type { StoreMeasures } from '../store/measures.ts';
import type { Measures } from '../telemetry/measured-gauges.ts';
import type { Calibrations } from '../workers/calibrations.ts';
import type { Timers } from '../workers/timers.ts';

export interface MeasureParts {
  readonly store: SweepStore;
  readonly measures: StoreMeasures;
  readonly wakes: OpenWakeQueue;
  readonly calibrations: Calibrations;
  readonly lease: MeasuringLease;
}

/** Connects the gauges to their sources. */
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

/** Longest wait over all shards, by queue. */
async function measureWaits(wakes: MeasureParts['wakes']): Promise<ReadonlyMap<string, number>> {
  const byQueue = Map.groupBy(await wakes.readShardWaits(), ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, shards]) => [queue, Math.max(...shards.map(({ waitMs = 0 }) => waitMs))]));
}

/** After a crash of the owner, the gauges of shared state are missing for up to this time. */
const LEASE_MS = 10_000;
const BEAT_MS = 3_000;
/** Longer than two scrapes a minute apart. A worker whose page is not read any more must not keep the lease. */
const RECENTLY_MS = 150_000;

export interface MeasuringLeasePorts {
  readonly measures: Pick<StoreMeasures, 'holdMeasuring'>;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly owner: string;
}

/**
 * Lease of the worker that measures the shared state and shows its gauges. Without the lease every replica would run
 * one script for each of 256 shards, and dashboards that sum the series would count them several times. Only workers
 * whose pages are read take the lease.
 */
export class MeasuringLease {
  readonly #ports: MeasuringLeasePorts;
  readonly #heartbeat: { stop(): void };
  #isEnded = false;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(ports: MeasuringLeasePorts) {
    this.#ports = ports;
    this.#heartbeat = ports.timers.every(BEAT_MS, async () => {
      if (ports.clock.now() - this.#readAt < RECENTLY_MS) await this.#hold(LEASE_MS);
    });
  }

  /** Called at each scrape. @returns whether this worker shows the shared gauges */
  async ask(): Promise<boolean> {
    if (this.#isEnded) return false;
    this.#readAt = this.#ports.clock.now();
    return await this.#hold(LEASE_MS);
  }

  /** Returns the lease without waiting, since Redis may be away. The lease lapses then. */
  end(): void {
    this.#isEnded = true;
    this.#heartbeat.stop();
    if (this.#readAt !== Number.NEGATIVE_INFINITY) this.#hold(0).catch(() => undefined);
  }

  #hold(leaseMs: number): Promise<boolean> {
    const { measures, owner } = this.#ports;
    return measures.holdMeasuring(owner, leaseMs);
  }
}
