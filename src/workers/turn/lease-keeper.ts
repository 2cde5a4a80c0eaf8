import type { TurnLease, TurnStore } from '../../domain/ports/turn-store.ts';
import type { Timers } from '../timers.ts';
import { LostTurn } from './lost-turn.ts';

export interface LeaseKeeperOptions {
  readonly turns: Pick<TurnStore, 'heartbeat'>;
  readonly timers: Timers;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
}

type Stoppable = ReturnType<Timers['after']>;

/**
 * Keeps the lease of one claimed turn and aborts its work when the lease is lost. Lives from the claim until the work
 * has ended; a heartbeat answered after the lease was given back finds nobody who listens.
 */
export class LeaseKeeper {
  readonly lease: TurnLease;
  readonly #options: LeaseKeeperOptions;
  readonly #work = new AbortController();
  readonly #heartbeat: Stoppable;
  #expiry: Stoppable;
  #isStopped = false;

  constructor(lease: TurnLease, options: LeaseKeeperOptions) {
    this.lease = lease;
    this.#options = options;
    this.#heartbeat = options.timers.every(options.heartbeatMs, () => this.#renew());
    this.#expiry = this.#expireLater();
  }

  /** Aborted with the reason that ends the work: every call made for the turn listens to it. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Ends the work; what still runs for the turn is aborted. The first reason stays. */
  abort(reason: unknown): void {
    this.stop();
    this.#work.abort(reason);
  }

  /** No further heartbeats; the work goes on. */
  stop(): void {
    this.#isStopped = true;
    this.#heartbeat.stop();
    this.#expiry.stop();
  }

  /** Throws where the store does not answer, which is no loss: the next heartbeat may be answered, and the lease runs on. */
  async #renew(): Promise<void> {
    const { status } = await this.#options.turns.heartbeat(this.lease);
    if (this.#isStopped) return;
    if (status !== 'held') {
      this.abort(new LostTurn(status));
      return;
    }
    this.#expiry.stop();
    this.#expiry = this.#expireLater();
  }

  /** Without a renewal the lease has run out by then, and another worker may go on from the record. */
  #expireLater(): Stoppable {
    const { timers, leaseMs } = this.#options;
    return timers.after(leaseMs, () => this.abort(new LostTurn('expired')));
  }
}
