import type { EventListener } from '../domain/events.ts';
import type { Clock } from '../domain/ports/clock.ts';
import type { PresenceStore, WorkerPresence } from '../domain/ports/presence-store.ts';
import type { Timers } from './timers.ts';

const RENEW_EVERY_MS = 5_000;
/** Silence after which a worker counts as lost: it died, hangs, or has lost Redis. */
export const LOST_AFTER_MS = 20_000;
/** Time that a stop waits for Redis. Without an answer other workers report this one as lost. */
const END_WITHIN_MS = 1_000;

export interface PresenceOptions {
  readonly store: PresenceStore;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/**
 * The entry of this process in the list of workers, from start to stop. If a worker goes silent without a stop, another worker
 * reports it once as `worker_lost`. Metrics cannot distinguish a crash from a stop, because both end a process's series.
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

  /** A failure is reported and retried, because a worker must work without its entry. */
  async start(): Promise<void> {
    await this.#renew();
    this.#renewal = this.#options.timers.every(RENEW_EVERY_MS, () => this.#renew());
  }

  /** Leaves the list, within a second. */
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

  /** False after an outage, when every other worker looks silent until it has renewed its entry. */
  #mayJudge(): boolean {
    const now = this.#options.clock.now();
    return now - this.#renewedAt <= 2 * RENEW_EVERY_MS && now - this.#inContactSince >= LOST_AFTER_MS;
  }
}
