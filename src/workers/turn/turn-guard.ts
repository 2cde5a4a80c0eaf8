import { describeBlock, type EventLoop, type LoopBlock } from '../../domain/event-loop.ts';
import type { DeferredWrite, EventScope } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { isLost, type Lost, type TurnLease } from '../../domain/lease.ts';
import type { TurnStore } from '../../store/turns.ts';
import { type DeferredWritePorts, deferWrite } from '../deferred-write.ts';
import { type Shutdown, StoppedWork } from '../shutdown.ts';
import type { Timers } from '../timers.ts';

/** Thrown into all work on a turn once its lease was lost, or was not renewed in time (`expired`). */
export class LostTurn extends Error {
  readonly why: Lost['status'] | 'expired';

  constructor(why: LostTurn['why']) {
    super(`the worker must not write anything more for this turn, because it lost the turn's lease (${why})`);
    this.name = 'LostTurn';
    this.why = why;
  }
}

export class StepTimeout extends Error {
  constructor(timeoutMs: number, block?: LoopBlock) {
    const cause = block === undefined ? '' : `: ${describeBlock(block)}`;
    super(`the call did not end within its timeout of ${timeoutMs} ms${cause}`);
    this.name = 'StepTimeout';
  }
}

/** A call took longer than the time that the turn had left. The turn ends without the outcome of that call. */
export class TurnTimeout extends StepTimeout {}

export interface TurnGuardOptions extends DeferredWritePorts {
  readonly turns: Pick<TurnStore, 'heartbeat'>;
  /** Monitor that names what blocked the event loop, if a heartbeat or a call was late. */
  readonly loop?: EventLoop | undefined;
  readonly shutdown: Pick<Shutdown, 'callsEnd'>;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
}

type Stoppable = ReturnType<Timers['after']>;

/**
 * Everything that can end the work on a claimed turn from outside. One signal is aborted once, with its cause. Every
 * model and tool call of the turn gets the signal, and writes of their outcomes check it first.
 *
 * ```
 * cause         aborted by                                            the delivery then
 * LostTurn      a heartbeat, or the lease lapsed without a renewal    writes nothing more
 * StoppedWork   the delivery, when the stopping worker has no time    hands the turn back
 * TurnTimeout   the timer of `limit`                                  settles the turn as failed
 * other error   the first call of a tool round that threw an error    settles it as failed, or gives it back
 * ```
 *
 * A canceled turn ends as a lost turn: the cancel raised the epoch, and the next heartbeat or write reports the loss.
 * Two other ends concern one call only: its own timeout, and a stopping worker that aborts its calls but still records
 * their answers.
 */
export class TurnGuard {
  readonly lease: TurnLease;
  readonly scope: EventScope & { readonly turn: string };
  /** Aborted when a stopping worker aborts its calls. A call may still answer until `signal` is aborted. */
  readonly callsEnd: AbortSignal;
  readonly #ports: TurnGuardOptions;
  readonly #work = new AbortController();
  readonly signal: AbortSignal = this.#work.signal;
  readonly #heartbeat: Stoppable;
  #expiry: Stoppable;
  #limit: Stoppable | undefined;
  #isOutlasted = false;
  #isStopped = false;

  constructor(lease: TurnLease, ports: TurnGuardOptions) {
    this.lease = lease;
    this.scope = { ...nameConversation(lease.conversation), turn: lease.turn };
    this.callsEnd = ports.shutdown.callsEnd;
    this.#ports = ports;
    this.#heartbeat = ports.timers.every(ports.heartbeatMs, () => this.#renew());
    this.#expiry = this.#expireLater();
  }

  /** Ends the work on the turn. If the work has ended already, the first cause remains. */
  abort(cause: unknown): void {
    this.stop();
    this.#work.abort(cause);
  }

  /** Stops renewing the lease. The work continues. */
  stop(): void {
    this.#isStopped = true;
    this.#heartbeat.stop();
    this.#expiry.stop();
  }

  limit(leftMs: number): void {
    this.#limit = this.#ports.timers.after(leftMs, () => this.abort(new TurnTimeout(leftMs)));
  }

  unlimit(): void {
    this.#limit?.stop();
  }

  /** @throws the cause of the turn's end, or StoppedWork if the stopping worker aborts its calls */
  throwIfEnded(): void {
    this.signal.throwIfAborted();
    if (this.callsEnd.aborted) throw new StoppedWork();
  }

  /**
   * Runs one model or tool call until it ends, times out (`StepTimeout`) or its turn ends. A call that ignores its
   * signal is abandoned.
   */
  async call<T>(timeoutMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timers, loop } = this.#ports;
    const { signal, callsEnd: stop } = this;
    for (const { aborted, reason } of [signal, stop]) if (aborted) throw reason;
    const step = new AbortController();
    const ended = Promise.withResolvers<never>();
    const leave = (reason: unknown): void => {
      // The caller's promise is rejected before the call is aborted. Otherwise the caller would get the error that the
      // abort causes in the call.
      ended.reject(reason);
      step.abort(reason);
    };
    const end = (): void => leave(signal.reason);
    const halt = (): void => step.abort(new StoppedWork());
    signal.addEventListener('abort', end, { once: true });
    stop.addEventListener('abort', halt, { once: true });
    const timeout = timers.after(timeoutMs, () => leave(new StepTimeout(timeoutMs, loop?.longestWithin(timeoutMs))));
    try {
      return await Promise.race([call(step.signal), ended.promise]);
    } finally {
      timeout.stop();
      signal.removeEventListener('abort', end);
      stop.removeEventListener('abort', halt);
    }
  }

  /**
   * Sends a write under the lease, and repeats it while Redis refuses writes. @throws LostTurn if the lease was lost
   */
  async write<Result extends { readonly status: string }>(
    write: DeferredWrite,
    send: () => Promise<Result | Lost>,
  ): Promise<Exclude<Result, Lost>> {
    const { signal, scope } = this;
    const result = await deferWrite(this.#ports, { write, scope, signal }, send);
    if (isLost(result)) throw new LostTurn(result.status);
    return result as Exclude<Result, Lost>; // TypeScript does not narrow a type parameter
  }

  /** Throws if the store does not answer. The lease stays valid until it lapses, and the next heartbeat may succeed. */
  async #renew(): Promise<void> {
    const { status } = await this.#ports.turns.heartbeat(this.lease);
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
    const { timers, leaseMs } = this.#ports;
    return timers.after(leaseMs, () => this.#expire());
  }

  /**
   * Called when the lease has lapsed by this process's clock. After a blocked event loop, the store decides: the thread
   * that renews leases may have renewed this one.
   */
  #expire(): void {
    const { timers, loop, heartbeatMs, leaseMs } = this.#ports;
    const wasBlocked = !this.#isOutlasted && loop?.longestWithin(leaseMs) !== undefined;
    if (!wasBlocked) return this.abort(new LostTurn('expired'));
    this.#isOutlasted = true;
    this.#expiry = timers.after(heartbeatMs, () => this.#expire());
    this.#renew().catch(() => undefined); // if this fails, the next expiry decides
  }
}
