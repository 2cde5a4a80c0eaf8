import type { EventListener } from '../domain/events.ts';
import type { CalibrationStore } from '../domain/ports/calibration-store.ts';
import type { Clock } from '../domain/ports/clock.ts';
import { calibrationRatio } from '../domain/size.ts';
import type { Timers } from './timers.ts';

/** A factor moves slowly, so a worker reports at most one answer a second for each model. */
const OBSERVE_EVERY_MS = 1_000;
const REFRESH_EVERY_MS = 15_000;

export interface CalibrationsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onEvent: EventListener;
}

/**
 * Calibration factors of this process. Every threshold check, plan and request of a process counts by the same factors.
 * Other processes follow within seconds. While Redis is away the last known factors hold.
 */
export class Calibrations {
  readonly #options: CalibrationsOptions;
  readonly #factors = new Map<string, number>();
  readonly #observedAt = new Map<string, number>();
  #store: CalibrationStore | undefined;
  #timer: { stop(): void } | undefined;

  constructor(options: CalibrationsOptions) {
    this.#options = options;
  }

  get factors(): ReadonlyMap<string, number> {
    return this.#factors;
  }

  /**
   * Factor of a model, 1 while it is unknown. A chain (`a|b`) has the largest factor of its models, since a request must fit
   * each of them. A factor observed under the chain's own id counts only while all its models are unknown.
   */
  factorOf(model: string): number {
    const known = model.split('|').map((id) => this.#factors.get(id));
    const isUnknown = known.every((factor) => factor === undefined);
    return isUnknown ? (this.#factors.get(model) ?? 1) : Math.max(...known.map((factor) => factor ?? 1));
  }

  /** Reads the factors now, and every 15 s until `stop`. */
  async start(store: CalibrationStore): Promise<void> {
    this.#store = store;
    await this.#refresh(store);
    this.#timer = this.#options.timers.every(REFRESH_EVERY_MS, () => this.#refresh(store));
  }

  stop(): void {
    this.#timer?.stop();
    this.#store = undefined;
  }

  /**
   * Records a provider's token count. Nothing waits for this, and a failure only leaves the factor a little older.
   * @param counted our own count of the same request in tokens, without anchor and calibration
   */
  async observe(model: string, providerTokens: number, counted: number): Promise<void> {
    const store = this.#store;
    const ratio = calibrationRatio(providerTokens, counted);
    const now = this.#options.clock.now();
    const isTooSoon = now - (this.#observedAt.get(model) ?? Number.NEGATIVE_INFINITY) < OBSERVE_EVERY_MS;
    if (store === undefined || ratio === undefined || isTooSoon) return;
    this.#observedAt.set(model, now);
    await this.#report(async () => {
      this.#factors.set(model, await store.observeCalibration(model, ratio));
    });
  }

  async #refresh(store: CalibrationStore): Promise<void> {
    await this.#report(async () => {
      for (const [model, factor] of await store.readCalibrations()) this.#factors.set(model, factor);
    });
  }

  async #report(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#options.onEvent({ type: 'worker_failed', where: 'calibration', error });
    }
  }
}
