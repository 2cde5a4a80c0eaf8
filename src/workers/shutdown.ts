import type { Timers } from './timers.ts';

/** Thrown where work ends because its worker stops. Its lease is handed back. */
export class StoppedWork extends Error {
  constructor() {
    super('the worker stops');
    this.name = 'StoppedWork';
  }
}

/** The end of the deadline is kept free for handing back: this share of it, and no more than the maximum. */
const HAND_BACK_SHARE = 0.25;
const HAND_BACK_MOST_MS = 2_000;

/**
 * The stop of a process, in three moments. Calls that were begun go on for most of the deadline: most of them end by then, and
 * one that is cut off is paid for twice.
 */
export class Shutdown {
  readonly #begun = new AbortController();
  readonly #callsEnd = new AbortController();
  readonly #workEnds = new AbortController();
  #cutOff = 0;

  /** Aborted when the process is told to stop: no delivery and no step begins any more. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /** Aborted when calls of models and tools are. What one still answers is kept. */
  get callsEnd(): AbortSignal {
    return this.#callsEnd.signal;
  }

  /** Aborted when every lease is handed back, whatever still runs under it. */
  get workEnds(): AbortSignal {
    return this.#workEnds.signal;
  }

  /** Work that the deadline cut off amid a step. Its lease was handed back. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** @param deadlineMs until the process ends */
  begin(deadlineMs: number, timers: Timers): void {
    if (this.#begun.signal.aborted) return;
    const handBackMs = Math.min(HAND_BACK_MOST_MS, deadlineMs * HAND_BACK_SHARE);
    timers.after(deadlineMs - handBackMs, () => this.#callsEnd.abort(new StoppedWork()));
    timers.after(deadlineMs - handBackMs / 2, () => this.#workEnds.abort(new StoppedWork()));
    this.#begun.abort(new StoppedWork());
  }

  noteCutOff(): void {
    this.#cutOff += 1;
  }
}

/**
 * What comes of the work, unless the signal aborts first. The work is left behind then, unheard.
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
