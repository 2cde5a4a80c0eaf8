import type { Timers } from '../../src/workers/timers.ts';

interface Entry {
  readonly dueAt: number;
  readonly isAlive: () => boolean;
  readonly call: () => void;
}

/** Time of one world. It stands still until it is told to move. Each process has timers of its own, which die with it. */
export class WorldClock {
  #now: number;
  readonly #entries = new Set<Entry>();

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  /** ms since epoch */
  now(): number {
    return this.#now;
  }

  /** when the next timer of a living process is due */
  get nextTimerAt(): number | undefined {
    return this.#next()?.dueAt;
  }

  /** Moves on; never back. Nothing fires by itself. */
  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  /** Fires the next timer that is due; false where none is. */
  fireNext(): boolean {
    const next = this.#next();
    if (next === undefined || next.dueAt > this.#now) return false;
    this.#entries.delete(next);
    next.call();
    return true;
  }

  timersOf(isAlive: () => boolean): Timers {
    const after: Timers['after'] = (ms, call) => {
      const entry = { dueAt: this.#now + ms, isAlive, call };
      this.#entries.add(entry);
      return { stop: () => this.#entries.delete(entry) };
    };
    const every: Timers['every'] = (ms, call) => {
      let isStopped = false;
      let timer = { stop: (): void => {} };
      const schedule = (): void => {
        if (!isStopped) timer = after(ms, () => void call().then(schedule, schedule));
      };
      schedule();
      return {
        stop: () => {
          isStopped = true;
          timer.stop();
        },
      };
    };
    return { after, every };
  }

  #next(): Entry | undefined {
    let next: Entry | undefined;
    for (const entry of this.#entries) {
      if (!entry.isAlive()) this.#entries.delete(entry);
      else if (next === undefined || entry.dueAt < next.dueAt) next = entry;
    }
    return next;
  }
}

/** For workers whose timers never fire: a frozen process that comes back and does not know how late it is. */
export const NO_TIMERS: Timers = {
  after: () => ({ stop: () => undefined }),
  every: () => ({ stop: () => undefined }),
};
