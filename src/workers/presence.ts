import type { EventListener } from '../domain/events.ts';
import type { Clock } from '../domain/ports/clock.ts';
import type { PresenceStore, WorkerPresence } from '../domain/ports/presence-store.ts';
import type { Timers } from './timers.ts';

const RENEW_EVERY_MS = 5_000;
/** A worker that has been silent this long has died, hangs, or has lost Redis. */
export const LOST_AFTER_MS = 20_000;
/** A stop waits this long for a Redis that may be away. Without an answer the worker is reported as lost. */
const END_WITHIN_MS = 1_000;

export interface PresenceOptions {
  readonly store: PresenceStore;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/**
 * This process's entry in the list of workers, from start to stop. A worker that goes silent without a stop is reported
 * once, as `worker_lost`, by another worker. Metrics alone cannot tell a death from a stop: both end a process's series.
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

  /** A failure is reported and retried: presence must not keep a worker from its work. */
  async start(): Promise<void> {
    await this.#renew();
    this.#renewal = this.#options.timers.every(RENEW_EVERY_MS, () => this.#renew());
  }

  /** Leaves the list. Ends within a second. */
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

  /** After an outage every other worker looks silent until it has renewed, too. */
  #mayJudge(): boolean {
    const now = this.#options.clock.now();
    return now - this.#renewedAt <= 2 * RENEW_EVERY_MS && now - this.#inContactSince >= LOST_AFTER_MS;
  }
}
