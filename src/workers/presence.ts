import type { EventListener } from '../domain/events.ts';
import type { Clock } from '../domain/ports/clock.ts';
import { LOST_AFTER_MS, type PresenceStore, type WorkerPresence } from '../domain/ports/presence-store.ts';
import type { Timers } from './timers.ts';

const RENEW_EVERY_MS = 5_000;
/**
 * ms that a stopping worker waits for Redis to remove its entry. If Redis does not answer, another worker reports this
 * one as lost.
 */
const END_WITHIN_MS = 1_000;

export interface PresenceOptions {
  readonly store: PresenceStore;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/**
 * The entry of this process in the list of running workers in Redis. A worker renews its entry until it stops. If a
 * worker disappears without a stop, another worker reports this once as `worker_lost`. Metrics cannot show the
 * difference, because a crash and a stop both end the metric series of a process.
 */
export class Presence {
  readonly #presence: WorkerPresence;
  readonly #options: PresenceOptions;
  #renewal: { stop(): void } | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #inContactSince = Number.POSITIVE_INFINITY;

  constructor(presence: WorkerPresence, options: PresenceOptions) {
    this.#presence = presence;
    this.#options = options;
  }

  /**
   * Adds this worker's entry to the list. If Redis fails, reports the failure and retries: a worker must work even
   * without its entry.
   */
  async start(): Promise<void> {
    await this.#renew();
    this.#renewal = this.#options.timers.every(RENEW_EVERY_MS, () => this.#renew());
  }

  /** Removes this worker's entry from the list. Gives up after a second. */
  async end(): Promise<void> {
    this.#renewal?.stop();
    const { promise: deadline, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(END_WITHIN_MS, resolve);
    const ended = this.#options.store.endPresence(this.#presence).catch(() => undefined);
    await Promise.race([ended, deadline]);
    timer.stop();
  }

  async #renew(): Promise<void> {
    const { store, clock, onEvent } = this.#options;
    try {
      const lost = await store.renewPresence(this.#presence, this.#mayJudge() ? LOST_AFTER_MS : undefined);
      const now = clock.now();
      if (now - this.#renewedAt > 2 * RENEW_EVERY_MS) this.#inContactSince = now;
      this.#renewedAt = now;
      for (const { worker, roles, livedMs } of lost) onEvent({ type: 'worker_lost', worker, roles, livedMs });
    } catch (error) {
      onEvent({ type: 'worker_failed', where: 'presence', error });
    }
  }

  /**
   * True if this worker may report other workers as lost. False after an outage of Redis, until this worker has renewed
   * its own entry: until then, the entries of all workers are outdated.
   */
  #mayJudge(): boolean {
    const now = this.#options.clock.now();
    return now - this.#renewedAt <= 2 * RENEW_EVERY_MS && now - this.#inContactSince >= LOST_AFTER_MS;
  }
}
