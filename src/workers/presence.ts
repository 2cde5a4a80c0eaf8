import type { Clock } from '../domain/clock.ts';
import type { EventListener } from '../domain/events.ts';
import { LOST_AFTER_MS } from '../domain/lease.ts';
import type { PresenceStore, SilentWorker, WorkerPresence } from '../store/presence.ts';
import type { Timers } from './timers.ts';

const RENEW_EVERY_MS = 500;
/** A worker that renewed nothing for this time was frozen, or had no connection. */
const INTERRUPTED_AFTER_MS = 3 * RENEW_EVERY_MS;
/**
 * ms of contact with Redis before this process may report others as gone. After an outage, workers retry once a second.
 */
const CONTACT_MS = 2_000;
/** `CONTACT_MS` after a short interruption: other workers connect again within 0.4 s and renew their keys at once. */
const SHORT_CONTACT_MS = 1_000;
/** ms for which a stop waits to remove the entry. After a failure, another worker reports this worker as lost. */
const END_WITHIN_MS = 1_000;

interface PresenceOptions {
  readonly store: PresenceStore;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/**
 * The entry of this process in the list of running workers. The worker that sweeps watches all entries, ends the leases
 * of a dead worker, and reports it once as `worker_lost`. Metrics cannot tell a crash from a stop: both end a series.
 */
export class Presence {
  readonly #presence: WorkerPresence;
  readonly #options: PresenceOptions;
  #renewal: { stop(): void } | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /**
   * Time since which Redis counts as reachable, so that an expired key means a dead worker. An interruption of n
   * seconds moves this start n seconds later, at most 20, because the keys of living workers ran down meanwhile. They
   * then have at least 10 s to renew their keys.
   */
  #inContactSince = Number.POSITIVE_INFINITY;
  #judgesFrom = 0;

  constructor(presence: WorkerPresence, options: PresenceOptions) {
    this.#presence = presence;
    this.#options = options;
  }

  /** Writes the entry, and retries if Redis fails: a worker must work even without its entry. */
  async start(): Promise<void> {
    await this.#renew();
    this.#renewal = this.#options.timers.every(RENEW_EVERY_MS, () => this.#renew());
  }

  /**
   * Handles dead workers. A failure for one worker does not delay the others. Never throws.
   * @param endLeases ends the leases of a dead worker. After a failure, a later call tries again
   */
  async watch(endLeases: (worker: string) => Promise<void>): Promise<void> {
    try {
      const silent = (await this.#options.store.findSilent()).filter((found) => this.#mayJudge(found));
      const handled = await Promise.allSettled(silent.map((found) => this.#handle(found, endLeases)));
      const failed = handled.find((result): result is PromiseRejectedResult => result.status === 'rejected');
      if (failed !== undefined) this.#fail(failed.reason);
    } catch (error) {
      this.#fail(error);
    }
  }

  async end(): Promise<void> {
    this.#renewal?.stop();
    const { promise: deadline, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(END_WITHIN_MS, resolve);
    const ended = this.#options.store.endPresence(this.#presence.worker).catch(() => undefined);
    await Promise.race([ended, deadline]);
    timer.stop();
  }

  async #handle(found: SilentWorker, endLeases: (worker: string) => Promise<void>): Promise<void> {
    if (found.state === 'gone') await endLeases(found.worker);
    if (await this.#options.store.removeSilent(found.worker)) this.#report(found);
  }

  #fail(error: unknown): void {
    this.#options.onEvent({ type: 'worker_failed', where: 'presence', error });
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#options;
    try {
      const isConnectedAgain = await store.renewPresence(this.#presence);
      const now = clock.now();
      const interruptedMs = now - this.#renewedAt;
      const wasLong = interruptedMs > INTERRUPTED_AFTER_MS;
      if (isConnectedAgain || wasLong) {
        // A short interruption soon after an outage must not end the longer wait for that outage.
        this.#judgesFrom = Math.max(this.#judgesFrom, now + (wasLong ? CONTACT_MS : SHORT_CONTACT_MS));
        const contactMs = Math.min(LOST_AFTER_MS, this.#renewedAt - this.#inContactSince);
        this.#inContactSince = now - Math.max(0, contactMs - interruptedMs);
      }
      this.#renewedAt = now;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** False for some time after an outage of Redis, because the entries of all workers are outdated then. */
  #mayJudge({ state }: SilentWorker): boolean {
    const now = this.#options.clock.now();
    if (now - this.#renewedAt > INTERRUPTED_AFTER_MS || now < this.#judgesFrom) return false;
    return state === 'gone' || now - this.#inContactSince >= LOST_AFTER_MS;
  }

  #report({ worker, roles, startedAt, state }: SilentWorker): void {
    const silentMs = state === 'lost' ? LOST_AFTER_MS : 0;
    const livedMs = Math.max(0, this.#options.clock.now() - startedAt - silentMs);
    this.#options.onEvent({ type: 'worker_lost', worker, roles, livedMs });
  }
}
