import type { Postponed } from '../jobs/ports.ts';
import type { Shutdown } from './shutdown.ts';
import type { Timers } from './timers.ts';

export interface SoloHold {
  /** Ends the hold. A second call does nothing. */
  release(): void;
  /** Changes an exclusive hold into a shared hold, without other work in between. */
  admitOthers(): void;
}

type Grant = () => void;

/**
 * A readers-writer lock for the work of one process. Turns, passes and summaries share it. A turn during which two
 * processes crashed holds it alone, so that a third crash harms no other work (I10). No side starves: new work waits
 * behind a turn that waits to be alone, and all of it runs before the next such turn.
 */
export class SoloLock {
  #sharing = 0;
  #isAlone = false;
  readonly #solos = new Set<Grant>();
  readonly #others = new Set<Grant>();

  /** True if a turn waits to run alone in this process. Other turns then end their claims after the current call. */
  get isWanted(): boolean {
    return !this.#isAlone && this.#solos.size > 0;
  }

  /** Takes a shared hold at once. Undefined if a turn is alone, or waits to be alone. */
  shareNow(): SoloHold | undefined {
    if (this.#isAlone || this.#solos.size > 0) return undefined;
    this.#sharing += 1;
    return this.#hold(false);
  }

  /** Takes a shared hold. Undefined if `signal` aborts first. */
  share(signal: AbortSignal): Promise<SoloHold | undefined> {
    return this.#enter(false, signal);
  }

  /** Takes an exclusive hold. Undefined if `signal` aborts first. */
  alone(signal: AbortSignal): Promise<SoloHold | undefined> {
    return this.#enter(true, signal);
  }

  async #enter(isSolo: boolean, signal: AbortSignal): Promise<SoloHold | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<SoloHold | undefined>();
    const line = isSolo ? this.#solos : this.#others;
    const grant: Grant = () => resolve(this.#hold(isSolo));
    const leave = (): void => {
      if (!line.delete(grant)) return;
      resolve(undefined);
      this.#grantNext();
    };
    line.add(grant);
    signal.addEventListener('abort', leave, { once: true });
    this.#grantNext();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #grantNext(): void {
    if (this.#isAlone) return;
    if (this.#solos.size === 0) this.#grantOthers();
    const [solo] = this.#solos;
    if (solo === undefined || this.#sharing > 0) return;
    this.#solos.delete(solo);
    this.#isAlone = true;
    solo();
  }

  #grantOthers(): void {
    for (const grant of this.#others) {
      this.#others.delete(grant);
      this.#sharing += 1;
      grant();
    }
  }

  #hold(isSolo: boolean): SoloHold {
    let held: 'alone' | 'shared' | 'released' = isSolo ? 'alone' : 'shared';
    const endAlone = (): void => {
      this.#isAlone = false;
      this.#grantOthers();
    };
    return {
      release: () => {
        if (held === 'released') return;
        if (held === 'alone') endAlone();
        else this.#sharing -= 1;
        held = 'released';
        this.#grantNext();
      },
      admitOthers: () => {
        if (held !== 'alone') return;
        held = 'shared';
        this.#sharing += 1;
        endAlone();
      },
    };
  }
}

interface WorkPlace {
  readonly shutdown: Shutdown;
  readonly solo: SoloLock;
  readonly timers: Timers;
}

/** ms that a job waits for a shared hold. After that, another process may take the job. */
const ENTER_WAIT_MS = 1_000;
const POSTPONE_MS = 1_000;

/** Takes a shared hold for a job. Undefined if a turn stays alone in the process, or if the process stops. */
export async function enterSharedSlot({ shutdown, solo, timers }: WorkPlace): Promise<SoloHold | undefined> {
  if (shutdown.begun.aborted) return undefined;
  const wait = { timers, waitMs: ENTER_WAIT_MS, ends: [shutdown.begun] };
  return solo.shareNow() ?? (await waitWithin(wait, (signal) => solo.share(signal)));
}

/** Result of a delivery that could not start. The queue delivers the job again later. */
export function postpone({ shutdown }: Pick<WorkPlace, 'shutdown'>): Postponed {
  return { status: 'postponed', delayMs: shutdown.begun.aborted ? 0 : POSTPONE_MS };
}

/** Gives each delivery a shared hold. While a turn is alone in the process, deliveries are postponed. */
export function withSharedSlot<Delivery, Result>(
  place: WorkPlace,
  handler: (delivery: Delivery) => Promise<Result>,
): (delivery: Delivery) => Promise<Result | Postponed> {
  return async (delivery) => {
    const hold = await enterSharedSlot(place);
    if (hold === undefined) return postpone(place);
    try {
      return await handler(delivery);
    } finally {
      hold.release();
    }
  };
}

interface LimitedWait {
  readonly timers: Timers;
  readonly waitMs: number;
  readonly ends: readonly AbortSignal[];
}

/** Runs `wait` with a signal that aborts after `waitMs`, or as soon as one of `ends` aborts. */
export async function waitWithin<T>(
  { timers, waitMs, ends }: LimitedWait,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = timers.after(waitMs, end);
  for (const signal of ends) {
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  }
  try {
    return await wait(over.signal);
  } finally {
    timer.stop();
    for (const signal of ends) signal.removeEventListener('abort', end);
  }
}
