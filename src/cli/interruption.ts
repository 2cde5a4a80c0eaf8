import { constants } from 'node:os';
import type { Interface } from 'node:readline/promises';

/** A signal asked this process to stop, before it was done. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }

  /** As shells have it for a process that a signal ended. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

export interface SignalListener {
  readonly interruption: Promise<Interruption>;
  /** aborts with it */
  readonly interrupted: AbortSignal;
  /** from now on SIGINT is the handler's and stops nothing; undefined gives SIGINT back */
  readonly takeInterrupts: (handler: (() => void) | undefined) => void;
  readonly stopListening: () => void;
}

/** The first SIGTERM or SIGINT asks to stop; the next one, of either kind, ends the process by its default handling. */
export function listenForSignals(): SignalListener {
  const { promise: interruption, resolve } = Promise.withResolvers<Interruption>();
  const interrupting = new AbortController();
  const stopListening = (): void => void process.off('SIGTERM', interrupt).off('SIGINT', interrupt);
  let taken: (() => void) | undefined;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' && taken !== undefined) {
      taken();
      return;
    }
    stopListening();
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

/** What comes of the work, unless the interruption comes first. @throws Interruption; the work goes on then, unheard */
export async function unlessInterrupted<T>(work: Promise<T>, interruption: Promise<Interruption>): Promise<T> {
  return await Promise.race([work, interruption.then((reason) => Promise.reject(reason))]);
}

/** Who reads a terminal letter by letter takes Ctrl-C from it before it becomes a signal. */
export function forwardInterrupt(terminal: Interface): void {
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
}
