import type { Timers } from '../timers.ts';

/** A step took longer than it may. */
export class StepTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`no outcome within ${timeoutMs} ms`);
    this.name = 'StepTimeout';
  }
}

export interface StepDeadline {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** aborted when the turn is lost */
  readonly signal: AbortSignal;
}

/**
 * Runs one call until its outcome, its deadline (`StepTimeout`) or the end of its turn (the signal's reason). What
 * ignores its signal is left behind: its late outcome is dropped.
 */
export async function callWithin<T>(deadline: StepDeadline, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timers, timeoutMs, signal } = deadline;
  signal.throwIfAborted();
  const step = new AbortController();
  const ended = Promise.withResolvers<never>();
  // Before the call can listen: whatever it throws when it is aborted comes second.
  step.signal.addEventListener('abort', () => ended.reject(step.signal.reason), { once: true });
  const end = (): void => step.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  const timeout = timers.after(timeoutMs, () => step.abort(new StepTimeout(timeoutMs)));
  try {
    return await Promise.race([call(step.signal), ended.promise]);
  } finally {
    timeout.stop();
    signal.removeEventListener('abort', end);
  }
}
