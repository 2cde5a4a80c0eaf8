import type { EventLoop } from '../../domain/event-loop.ts';
import type { DeferredWrite } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { isLost, type Lost, type TurnLease } from '../../domain/lease.ts';
import { type TurnStore } from '../../store/turns.ts';
import { type DeferredWritePorts, deferWrite } from '../deferred-write.ts';
import type { Timers } from '../timers.ts';
import { LostTurn } from './turn-errors.ts';

export interface LeaseKeeperOptions {
  readonly turns: Pick<TurnStore, 'heartbeat'>;
  readonly timers: Timers;
  readonly loop?: EventLoop | undefined;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
}

type Stoppable = ReturnType<Timers['after']>;

/** Renews the lease of a claimed turn until the turn's work has ended. Aborts the work when the lease is lost. */
export class LeaseKeeper {
  readonly lease: TurnLease;
  readonly #options: LeaseKeeperOptions;
  readonly #work = new AbortController();
  readonly #heartbeat: Stoppable;
  #expiry: Stoppable;
  #isOutlasted = false;
  #isStopped = false;

  constructor(lease: TurnLease, options: LeaseKeeperOptions) {
    this.lease = lease;
    this.#options = options;
    this.#heartbeat = options.timers.every(options.heartbeatMs, () => this.#renew());
    this.#expiry = this.#expireLater();
  }

  /** Aborted with the reason why the work must end. Every model and tool call of the turn gets this signal. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Aborts the turn's work. If the work was aborted before, the first reason remains. */
  abort(reason: unknown): void {
    this.stop();
    this.#work.abort(reason);
  }

  /** Stops the heartbeats of the lease. The turn's work continues. */
  stop(): void {
    this.#isStopped = true;
    this.#heartbeat.stop();
    this.#expiry.stop();
  }

  /**
   * Sends one heartbeat. Throws if the store does not answer. The lease is not lost then: the lease is valid until it
   * lapses, and the next heartbeat may succeed.
   */
  async #renew(): Promise<void> {
    const { status } = await this.#options.turns.heartbeat(this.lease);
    if (this.#isStopped) return;
    if (status !== 'renewed') {
      this.abort(new LostTurn(status));
      return;
    }
    this.#isOutlasted = false;
    this.#expiry.stop();
    this.#expiry = this.#expireLater();
  }

  #expireLater(): Stoppable {
    const { timers, leaseMs } = this.#options;
    return timers.after(leaseMs, () => this.#expire());
  }

  /**
   * Aborts the turn's work when the lease lapses without a renewal. From then on, another worker may continue the turn
   * from its record. After a block of the event loop, asks the store once more. The lease thread may have renewed the lease,
   * or no other worker has begun the turn.
   */
  #expire(): void {
    const { timers, loop, heartbeatMs, leaseMs } = this.#options;
    const wasBlocked = !this.#isOutlasted && loop?.longestWithin(leaseMs) !== undefined;
    if (!wasBlocked) return this.abort(new LostTurn('expired'));
    this.#isOutlasted = true;
    this.#expiry = timers.after(heartbeatMs, () => this.#expire());
    this.#renew().catch(() => undefined); // the next expiry decides
  }
}

export interface LeaseWritePorts extends DeferredWritePorts {
  readonly keeper: LeaseKeeper;
}

/**
 * Sends a write under the lease of a turn, and repeats the write while Redis refuses writes.
 * @throws LostTurn if the turn's lease was lost
 */
export async function writeUnderLease<Result extends { readonly status: string }>(
  ports: LeaseWritePorts,
  write: DeferredWrite,
  send: () => Promise<Result | Lost>,
): Promise<Exclude<Result, Lost>> {
  const { lease, signal } = ports.keeper;
  const scope = { ...nameConversation(lease.conversation), turn: lease.turn };
  const result = await deferWrite(ports, { write, scope, signal }, send);
  if (isLost(result)) throw new LostTurn(result.status);
  return result as Exclude<Result, Lost>; // TypeScript does not narrow a type parameter
}
