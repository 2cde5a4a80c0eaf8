import type { Clock } from '../domain/clock.ts';
import type { EventListener } from '../domain/events.ts';
import { LOST_AFTER_MS } from '../domain/lease.ts';
import type { PresenceStore, SilentWorker, WorkerPresence } from '../store/presence.ts';
import type { Timers } from './timers.ts';

const RENEW_EVERY_MS = 500;
/** A worker that has renewed nothing for this long was frozen, or had no connection to Redis. */
const INTERRUPTED_AFTER_MS = 3 * RENEW_EVERY_MS;
/**
 * ms for which this process must have had a connection to Redis before it may find that another worker is gone. After an
 * outage of Redis, all workers need some of this time to connect again: they try at least once a second.
 */
const CONTACT_MS = 2_000;
/**
 * ms of contact that are enough after an interruption of at most `INTERRUPTED_AFTER_MS`. Other workers that were cut off
 * connect again within 0.4 s then, and renew their keys at once.
 */
const SHORT_CONTACT_MS = 1_000;
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
 * The entry of this process in the list of running workers in Redis. A worker renews its entry until it stops. The worker
 * that sweeps watches all entries. The sweeping worker ends the leases of a dead worker, and reports each worker that
 * disappeared once as `worker_lost`. Metrics cannot show the difference, because a crash and a stop both end the metric
 * series of a process.
 */
export class Presence {
  readonly #presence: WorkerPresence;
  readonly #options: PresenceOptions;
  #renewal: { stop(): void } | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #inContactSince = Number.POSITIVE_INFINITY;
  /** Time from which this worker may find that another worker is gone. */
  #judgesFrom = 0;

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

  /**
   * Looks once for workers that disappeared, and handles all of them at once. A failure for one worker does not delay
   * the others. Must not throw.
   * @param endLeases ends the leases of a dead worker. After a failure, a later call tries again.
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

  /** Removes this worker's entry from the list. Gives up after a second. */
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
      const wasLong = now - this.#renewedAt > INTERRUPTED_AFTER_MS;
      if (isConnectedAgain || wasLong) this.#beginContact(now, wasLong ? CONTACT_MS : SHORT_CONTACT_MS);
      this.#renewedAt = now;
    } catch (error) {
      this.#fail(error);
    }
  }

  #beginContact(now: number, contactMs: number): void {
    // A cut soon after an outage does not shorten the time that the outage needs.
    this.#judgesFrom = Math.max(this.#judgesFrom, now + contactMs);
    this.#inContactSince = now;
  }

  /**
   * True if this worker may decide that another worker has disappeared. False for some time after an outage of Redis: then
   * the entries of all workers are outdated.
   */
  #mayJudge({ state }: SilentWorker): boolean {
    const now = this.#options.clock.now();
    if (now - this.#renewedAt > INTERRUPTED_AFTER_MS) return false;
    return state === 'gone' ? now >= this.#judgesFrom : now - this.#inContactSince >= LOST_AFTER_MS;
  }

  #report({ worker, roles, startedAt, state }: SilentWorker): void {
    const silentMs = state === 'lost' ? LOST_AFTER_MS : 0;
    const livedMs = Math.max(0, this.#options.clock.now() - startedAt - silentMs);
    this.#options.onEvent({ type: 'worker_lost', worker, roles, livedMs });
  }
}
