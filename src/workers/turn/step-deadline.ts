import { describeBlock, type EventLoop, type LoopBlock } from '../../domain/event-loop.ts';
import { StoppedWork } from '../shutdown.ts';
import type { Timers } from '../timers.ts';

export class StepTimeout extends Error {
  constructor(timeoutMs: number, block?: LoopBlock) {
    const cause = block === undefined ? '' : `: ${describeBlock(block)}`;
    super(`the call did not end within its timeout of ${timeoutMs} ms${cause}`);
    this.name = 'StepTimeout';
  }
}

export interface StepDeadline {
  readonly timers: Timers;
  /** Tells if a call was late because the event loop was blocked. */
  readonly loop?: EventLoop | undefined;
  readonly timeoutMs: number;
  /** Aborted when the turn's lease was lost or handed back. */
  readonly signal: AbortSignal;
  /** Aborted when a stopping worker aborts its calls. The call may still answer until `signal` aborts. */
  readonly stop: AbortSignal;
}

/**
 * Runs one model or tool call until it ends, until its deadline (throws `StepTimeout`), or until its turn ends (throws
 * the signal's reason). A call that ignores its signal is abandoned, and its late outcome is ignored.
 */
export async function callWithin<T>(deadline: StepDeadline, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timers, loop, timeoutMs, signal, stop } = deadline;
  for (const { aborted, reason } of [signal, stop]) if (aborted) throw reason;
  const step = new AbortController();
  const ended = Promise.withResolvers<never>();
  const leave = (reason: unknown): void => {
    // The promise is rejected before the call is aborted. Otherwise the caller would get the error that the abort
    // causes inside the call.
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
