import type { EventListener } from '../domain/events.ts';
import type { CalibrationStore } from '../domain/ports/calibration-store.ts';
import type { Clock } from '../domain/ports/clock.ts';
import { calibrationRatio } from '../domain/size.ts';
import type { Timers } from './timers.ts';

/** A factor moves slowly: a worker tells of one answer a second for each model, whatever its load. */
const OBSERVE_EVERY_MS = 1_000;
const REFRESH_EVERY_MS = 15_000;

export interface CalibrationsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onEvent: EventListener;
}

/**
 * This process's copy of the calibrations. Every backoff, plan and request of it counts by the same factors; those of other
 * processes follow within seconds. With Redis away the last known ones stay.
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

  /** model → factor */
  get factors(): ReadonlyMap<string, number> {
    return this.#factors;
  }

  /**
   * 1 while nothing is known of a model. A chain's (`a|b`) is the largest of its models', since a request has to fit whichever of
   * them gets it; what was observed under the chain's own id counts only while nothing is known of any of them.
   */
  factorOf(model: string): number {
    const known = model.split('|').map((id) => this.#factors.get(id));
    const isUnknown = known.every((factor) => factor === undefined);
    return isUnknown ? (this.#factors.get(model) ?? 1) : Math.max(...known.map((factor) => factor ?? 1));
  }

  /** Reads the factors now, and again every 15 s until it is stopped. */
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
   * Tells what a provider counted of a request. Nothing waits for it, and its failure costs a factor that is a little older.
   * @param counted our own size of the same request, without anchor and calibration, in tokens
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
