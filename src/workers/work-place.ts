import type { Postponed } from '../jobs/ports.ts';
import type { Shutdown } from './shutdown.ts';
import type { SoloHold, SoloLock } from './solo-lock.ts';
import type { Timers } from './timers.ts';

/** Objects that all work of one process shares. */
export interface WorkPlace {
  readonly shutdown: Shutdown;
  readonly solo: SoloLock;
  readonly timers: Timers;
}

/** ms that a delivery waits if a turn holds the process exclusively. After that, another process may take the job. */
const ENTER_WAIT_MS = 1_000;
const POSTPONE_MS = 1_000;

/**
 * Waits for a shared hold of the process. Undefined if a turn holds the process exclusively for longer, or if the
 * process stops.
 */
export async function enterPlace({ shutdown, solo, timers }: WorkPlace): Promise<SoloHold | undefined> {
  return await waitWithin({ timers, waitMs: ENTER_WAIT_MS, ends: [shutdown.begun] }, (signal) => solo.share(signal));
}

/**
 * Result of a delivery that could not start because a turn runs alone in the process. The queue delivers the job again
 * later.
 */
export function postpone({ shutdown }: Pick<WorkPlace, 'shutdown'>): Postponed {
  return { status: 'postponed', delayMs: shutdown.begun.aborted ? 0 : POSTPONE_MS };
}

/**
 * Wraps a job handler. Each delivery takes a shared hold of the process, or is postponed if a turn holds the process
 * exclusively.
 */
export function besideOthers<Delivery, Result>(
  place: WorkPlace,
  handler: (delivery: Delivery) => Promise<Result>,
): (delivery: Delivery) => Promise<Result | Postponed> {
  return async (delivery) => {
    const hold = await enterPlace(place);
    if (hold === undefined) return postpone(place);
    try {
      return await handler(delivery);
    } finally {
      hold.release();
    }
  };
}

export interface LimitedWait {
  readonly timers: Timers;
  readonly waitMs: number;
  /** Signals that end the wait when one of them aborts. */
  readonly ends: readonly AbortSignal[];
}

/** Calls `wait` with a signal that aborts after `waitMs`, or as soon as one of `ends` aborts. */
export async function waitWithin<T>(
  { timers, waitMs, ends }: LimitedWait,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = timers.after(waitMs, end);
  for (const signal of ends) signal.addEventListener('abort', end, { once: true });
  if (ends.some(({ aborted }) => aborted)) end();
  try {
    return await wait(over.signal);
  } finally {
    timer.stop();
    for (const signal of ends) signal.removeEventListener('abort', end);
  }
}
