import type { Clock } from '../domain/clock.ts';
import type { EventListener } from '../domain/events.ts';
import { calibrationRatio } from '../domain/size.ts';
import type { CalibrationStore } from '../store/calibrations.ts';
import type { Timers } from './timers.ts';

/** Least ms between two reports of a model's counts by one worker. Factors change slowly. */
const OBSERVE_EVERY_MS = 1_000;
const REFRESH_EVERY_MS = 15_000;

interface CalibrationsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onEvent: EventListener;
}

/** Largest ratio by which one report may change a factor, because a report may be wrong. */
const MOST_CHANGE = 1.25;

function limitChange(ratio: number | undefined, factor: number): number | undefined {
  return ratio && Math.min(Math.max(ratio, factor / MOST_CHANGE), factor * MOST_CHANGE);
}

/**
 * Calibration factors: for each model, the tokens that its provider counts for each token that turnfold counts.
 * Processes agree within seconds. While Redis is down, each process keeps its last factors.
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
   * A chain of models (`a|b`) has the largest factor of its models, because a request must fit into each. A factor of
   * the chain's own id is used only if none of its models has a factor.
   */
  factorOf(model: string, initial = 1): number {
    const known = model.split('|').map((id) => this.#factors.get(id));
    const isUnknown = known.every((factor) => factor === undefined);
    return isUnknown ? (this.#factors.get(model) ?? initial) : Math.max(...known.map((factor) => factor ?? initial));
  }

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
   * Reports a count of the provider. If the write fails, the factor stays.
   * @param counted turnfold's own count of the request, uncorrected
   */
  async observe(model: string, providerTokens: number, counted: number): Promise<void> {
    const store = this.#store;
    const ratio = limitChange(calibrationRatio(providerTokens, counted), this.factorOf(model));
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
