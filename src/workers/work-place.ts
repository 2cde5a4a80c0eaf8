import type { Postponed } from '../domain/ports/queue.ts';
import type { Shutdown } from './shutdown.ts';
import type { SoloHold, SoloLock } from './solo-lock.ts';
import type { Timers } from './timers.ts';

/** What work of a process shares with all other work there. */
export interface WorkPlace {
  readonly shutdown: Shutdown;
  readonly solo: SoloLock;
  readonly timers: Timers;
}

/** A delivery waits so long for a turn that runs alone. Then another process may take its job. */
const ENTER_WAIT_MS = 1_000;
const POSTPONE_MS = 1_000;

/** Waits for a place beside other work. Undefined: a turn runs alone for longer, or the process stops. */
export async function enterPlace({ shutdown, solo, timers }: WorkPlace): Promise<SoloHold | undefined> {
  return await waitWithin({ timers, waitMs: ENTER_WAIT_MS, ends: [shutdown.begun] }, (signal) => solo.share(signal));
}

/** What a delivery answers that found no place. */
export function postpone({ shutdown }: Pick<WorkPlace, 'shutdown'>): Postponed {
  return { status: 'postponed', delayMs: shutdown.begun.aborted ? 0 : POSTPONE_MS };
}

/** A handler whose deliveries run beside other work, and are postponed where they may not. */
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
  /** each of them ends the wait */
  readonly ends: readonly AbortSignal[];
}

/** Waits with a signal that aborts after `waitMs`, or with the first of `ends`. */
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
