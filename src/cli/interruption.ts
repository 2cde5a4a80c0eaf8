import { constants } from 'node:os';
import type { Interface } from 'node:readline/promises';

/** A signal asked this process to stop. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }

  /** The exit code that shells give to a process that a signal ended. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

export interface SignalListener {
  readonly interruption: Promise<Interruption>;
  readonly interrupted: AbortSignal;
  /** Passes SIGINT to a handler instead of stopping. `undefined` restores the default. */
  readonly takeInterrupts: (handler: (() => void) | undefined) => void;
  readonly stopListening: () => void;
}

/** The first SIGTERM or SIGINT asks to stop. The second one ends the process by Node's default. */
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

/** Awaits `work`. An interruption ends the wait, but not `work` itself. @throws Interruption */
export async function unlessInterrupted<T>(work: Promise<T>, interruption: Promise<Interruption>): Promise<T> {
  return await Promise.race([work, interruption.then((reason) => Promise.reject(reason))]);
}

/** Sends SIGINT for Ctrl-C, which a readline interface would swallow. */
export function forwardInterrupt(terminal: Interface): void {
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
}
