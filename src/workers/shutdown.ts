import type { Timers } from './timers.ts';

/** Work ended because its worker stops. Its lease is handed back. */
export class StoppedWork extends Error {
  constructor() {
    super('the worker stops');
    this.name = 'StoppedWork';
  }
}

/** Part of the deadline for handing leases back, with its maximum. */
const HAND_BACK_SHARE = 0.25;
const HAND_BACK_MAX_MS = 2_000;

/**
 * The stop of a process in three phases. Calls in flight continue for most of the deadline. Most of them end by then, and
 * a call that is cut off is paid twice.
 */
export class Shutdown {
  readonly #begun = new AbortController();
  readonly #callsEnd = new AbortController();
  readonly #workEnds = new AbortController();
  #cutOff = 0;

  /** Aborted at the start of the stop: no delivery and no step starts any more. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /** Aborted when calls of models and tools are aborted. An answer after that is still recorded. */
  get callsEnd(): AbortSignal {
    return this.#callsEnd.signal;
  }

  /** Aborted when every lease is handed back, even if work still runs under it. */
  get workEnds(): AbortSignal {
    return this.#workEnds.signal;
  }

  /** Number of turns and passes that the deadline cut off within a step. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** @param deadlineMs until the process ends */
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
 * Runs the work unless the signal aborts first. Then the work is abandoned and its outcome ignored.
 * @throws the signal's reason
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
