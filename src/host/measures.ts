import type { Clock } from '../domain/clock.ts';
import type { OpenWakeQueue } from '../jobs/bullmq/wake-queue.ts';
import type { StoreMeasures } from '../store/measures.ts';
import type { SweepStore } from '../store/sweep.ts';
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

/** Connects the metric gauges to the code that measures them. */
export function createMeasures({ store, measures, wakes, calibrations, lease }: MeasureParts): Measures {
  return {
    isMeasuring: () => lease.ask(),
    ping: () => measures.ping(),
    countJobs: () => wakes.countJobs(),
    measureWaits: () => measureWaits(wakes),
    measureShards: () => store.measureShards(),
    measureServers: () => measures.measureServers(),
    listMissingAgents: () => measures.listMissingAgents(),
    listGates: () => measures.listGates(),
    readCalibrations: async () => calibrations.factors,
  };
}

/** Returns for each queue the longest time that a job has waited in any shard. */
async function measureWaits(wakes: MeasureParts['wakes']): Promise<ReadonlyMap<string, number>> {
  const byQueue = Map.groupBy(await wakes.readShardWaits(), ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, shards]) => [queue, Math.max(...shards.map(({ waitMs = 0 }) => waitMs))]));
}

/**
 * Duration of the measuring lease in ms. If its owner crashes, the gauges of shared state are missing for up to this
 * time.
 */
const LEASE_MS = 10_000;
const BEAT_MS = 3_000;
/**
 * A worker gives up the measuring lease if its metrics page was not read for this time in ms. The time is longer than
 * two scrapes that are a minute apart.
 */
const RECENTLY_MS = 150_000;

export interface MeasuringLeasePorts {
  readonly measures: Pick<StoreMeasures, 'holdMeasuring'>;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly owner: string;
}

/**
 * Lease of the one worker that measures the shared state in Redis and shows its gauges. If every worker measured, each
 * would run one script for each of 256 shards, and dashboards that sum the series would count them several times. Only
 * workers whose metrics page is read take the lease.
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

  /** Takes or renews the lease at each metrics scrape. @returns true if this worker shows the shared gauges */
  async ask(): Promise<boolean> {
    if (this.#isEnded) return false;
    this.#readAt = this.#ports.clock.now();
    return await this.#hold(LEASE_MS);
  }

  /** Gives the lease back without waiting for Redis, which may be unreachable. In that case the lease lapses. */
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
