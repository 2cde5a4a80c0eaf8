import { StoppedWork } from '../shutdown.ts';
import type { Timers } from '../timers.ts';

export class StepTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`no outcome within ${timeoutMs} ms`);
    this.name = 'StepTimeout';
  }
}

export interface StepDeadline {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** Aborted when the turn is lost or handed back. */
  readonly signal: AbortSignal;
  /** Aborted when a stopping worker ends its calls. The call may still answer until `signal` aborts. */
  readonly stop: AbortSignal;
}

/**
 * Runs one call until its outcome, its deadline (`StepTimeout`) or the end of its turn (the signal's reason). A call that
 * ignores its signal is abandoned, and its late outcome is dropped.
 */
export async function callWithin<T>(deadline: StepDeadline, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timers, timeoutMs, signal, stop } = deadline;
  for (const { aborted, reason } of [signal, stop]) if (aborted) throw reason;
  const step = new AbortController();
  const ended = Promise.withResolvers<never>();
  const leave = (reason: unknown): void => {
    // Before the abort: otherwise the race would end with the error that the abort causes in the call.
    ended.reject(reason);
    step.abort(reason);
  };
  const end = (): void => leave(signal.reason);
  const halt = (): void => step.abort(new StoppedWork());
  signal.addEventListener('abort', end, { once: true });
  stop.addEventListener('abort', halt, { once: true });
  const timeout = timers.after(timeoutMs, () => leave(new StepTimeout(timeoutMs)));
  try {
    return await Promise.race([call(step.signal), ended.promise]);
  } finally {
    timeout.stop();
    signal.removeEventListener('abort', end);
    stop.removeEventListener('abort', halt);
  }
}
