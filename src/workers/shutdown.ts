import type { Timers } from './timers.ts';

/** Thrown into work that is interrupted because its worker stops. The lease of the work is handed back. */
export class StoppedWork extends Error {
  constructor() {
    super('the work was interrupted because its worker stops');
    this.name = 'StoppedWork';
  }
}

/** Share of the shutdown deadline that is reserved for handing leases back. */
const HAND_BACK_SHARE = 0.25;
const HAND_BACK_MAX_MS = 2_000;

/**
 * Stops a worker in three phases: start no work, abort calls, hand leases back. Aborted calls are repeated elsewhere.
 */
export class Shutdown {
  readonly #begun = new AbortController();
  readonly #callsEnd = new AbortController();
  readonly #workEnds = new AbortController();
  /** Aborts when the stop begins. From then on the worker starts no delivery, and no model or tool call. */
  readonly begun: AbortSignal = this.#begun.signal;
  /** Aborts when the worker aborts its model and tool calls. An answer that still arrives is recorded. */
  readonly callsEnd: AbortSignal = this.#callsEnd.signal;
  /** Aborts when all leases are handed back, even the leases of work that still runs. */
  readonly workEnds: AbortSignal = this.#workEnds.signal;
  #cutOff = 0;

  /** Number of turns and passes that the deadline interrupted within a call. */
  get cutOff(): number {
    return this.#cutOff;
  }

  begin(deadlineMs: number, timers: Timers): void {
    if (this.#begun.signal.aborted) return;
    const handBackMs = Math.min(HAND_BACK_MAX_MS, deadlineMs * HAND_BACK_SHARE);
    timers.after(deadlineMs - handBackMs, () => this.#callsEnd.abort(new StoppedWork()));
    timers.after(deadlineMs - handBackMs / 2, () => this.#workEnds.abort(new StoppedWork()));
    this.#begun.abort(new StoppedWork());
  }

  noteCutOff(): void {
    this.#cutOff += 1;
  }
}

/**
 * Runs the work until it ends or the signal aborts. Aborted work continues, and its outcome is ignored.
 * @throws the signal's reason after an abort, and every error of the work
 */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
