import type { Clock } from '../domain/ports/clock.ts';
import type { StoreMeasures } from '../store/measures.ts';
import type { Timers } from '../workers/timers.ts';

/** What the shared state is without a holder for: a worker that held it died, and the others have not looked yet. */
const LEASE_MS = 10_000;
const BEAT_MS = 3_000;
/** Two scrapes of a minute, and some. A worker whose page nobody reads must not keep the lease from those that are read. */
const READ_LATELY_MS = 150_000;

export interface MeasuringLeasePorts {
  readonly measures: Pick<StoreMeasures, 'holdMeasuring'>;
  readonly timers: Timers;
  readonly clock: Clock;
  /** of this process */
  readonly owner: string;
}

/**
 * Which worker measures the shared state, and shows its gauges. It was "all of them, take the max": then Redis is asked as
 * often as there are replicas (each time one script a shard, 256 of them), and whatever adds the series up, as the dashboards of
 * others do, multiplies them. So one of the workers whose pages are read holds a lease, and renews it whether it is read
 * just then or not. What it costs: after a crash of the holder some seconds without these gauges.
 */
export class MeasuringLease {
  readonly #ports: MeasuringLeasePorts;
  readonly #heartbeat: { stop(): void };
  #isEnded = false;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(ports: MeasuringLeasePorts) {
    this.#ports = ports;
    this.#heartbeat = ports.timers.every(BEAT_MS, async () => {
      if (ports.clock.now() - this.#readAt < READ_LATELY_MS) await this.#hold(LEASE_MS);
    });
  }

  /** Somebody reads the page: whether the shared state is this worker's to show. */
  async ask(): Promise<boolean> {
    if (this.#isEnded) return false;
    this.#readAt = this.#ports.clock.now();
    return await this.#hold(LEASE_MS);
  }

  /** Gives it back. Nobody waits for that, since Redis may be away; then it lapses. */
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
