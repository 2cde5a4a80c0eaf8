import type { Timers } from './timers.ts';

/** Thrown into work that is interrupted because its worker stops. The lease of the work is handed back. */
export class StoppedWork extends Error {
  constructor() {
    super('the work was interrupted because its worker stops');
    this.name = 'StoppedWork';
  }
}

/**
 * Share of a stopping worker's deadline that is reserved for handing leases back, and the maximum of that time in ms.
 */
const HAND_BACK_SHARE = 0.25;
const HAND_BACK_MAX_MS = 2_000;

/**
 * Stops a worker process in three phases: start no work, abort calls, hand leases back. Calls in flight may continue
 * for most of the deadline. Most calls end in that time, and a call that is aborted must be paid for twice.
 */
export class Shutdown {
  readonly #begun = new AbortController();
  readonly #callsEnd = new AbortController();
  readonly #workEnds = new AbortController();
  #cutOff = 0;

  /** Aborted when the worker begins to stop. After that, the worker starts no delivery and no step. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /** Aborted when the stopping worker aborts its model and tool calls. An answer that still arrives is recorded. */
  get callsEnd(): AbortSignal {
    return this.#callsEnd.signal;
  }

  /** Aborted when the stopping worker hands all leases back, even those of work that still runs. */
  get workEnds(): AbortSignal {
    return this.#workEnds.signal;
  }

  /** Number of turns and compaction passes that the deadline interrupted in the middle of a step. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Begins the stop of the worker. @param deadlineMs ms until the process ends */
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
 * Runs the work unless the signal aborts first. After an abort, the work continues unattended and its outcome is
 * ignored.
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
