import { constants } from 'node:os';
import type { Interface } from 'node:readline/promises';

export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }

  /** Exit code that shells report for a process that a signal ended. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

interface SignalListener {
  readonly interruption: Promise<Interruption>;
  readonly interrupted: AbortSignal;
  /** Sends SIGINT to the handler instead of stopping the process. `undefined` restores the default. */
  readonly takeInterrupts: (handler: (() => void) | undefined) => void;
  readonly stopListening: () => void;
}

/** ms in which a second SIGINT does not count. If npm started the process, npm repeats the SIGINT of Ctrl-C. */
const SAME_MS = 1_000;

/**
 * The first signal asks the process to stop, and a second one ends it.
 * @param handsBack true for a worker: a second SIGTERM changes nothing, and a SIGINT, which a person sends, ends it
 */
export function listenForSignals(handsBack = false): SignalListener {
  const { promise: interruption, resolve } = Promise.withResolvers<Interruption>();
  const interrupting = new AbortController();
  const stopListening = (): void => void process.off('SIGTERM', interrupt).off('SIGINT', interrupt);
  let taken: (() => void) | undefined;
  let firstAt: number | undefined;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' && taken !== undefined) {
      taken();
      return;
    }
    if (firstAt !== undefined) {
      if (signal === 'SIGTERM' || performance.now() - firstAt < SAME_MS) return;
      stopListening();
      process.kill(process.pid, signal);
      return;
    }
    firstAt = performance.now();
    if (!handsBack) stopListening();
    const reason = new Interruption(signal);
    resolve(reason);
    interrupting.abort(reason);
  };
  process.on('SIGTERM', interrupt).on('SIGINT', interrupt);
  const takeInterrupts = (handler: (() => void) | undefined): void => {
    taken = handler;
  };
  return { interruption, interrupted: interrupting.signal, takeInterrupts, stopListening };
}

/** Does not stop `work`. @throws Interruption after SIGTERM or SIGINT */
export async function unlessInterrupted<T>(work: Promise<T>, interruption: Promise<Interruption>): Promise<T> {
  return await Promise.race([work, interruption.then((reason) => Promise.reject(reason))]);
}

/** Sends Ctrl-C to the process as SIGINT, because Node's readline would consume it. */
export function forwardInterrupt(terminal: Interface): void {
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
}
