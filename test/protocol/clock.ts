import type { Timers } from '../../src/workers/timers.ts';

interface Entry {
  readonly dueAt: number;
  readonly isAlive: () => boolean;
  readonly call: () => void;
}

/** The clock of one world. Time stands still until `moveTo`. The timers of a process die with the process. */
export class WorldClock {
  #now: number;
  readonly #entries = new Set<Entry>();

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  /** Milliseconds since epoch. */
  now(): number {
    return this.#now;
  }

  /** Due time of the next timer of a live process. */
  get nextTimerAt(): number | undefined {
    return this.#next()?.dueAt;
  }

  /** Never moves back, and fires no timer. */
  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  /** Fires the next due timer. @returns false if no timer is due */
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

/** Timers that never fire. A worker with them acts like a frozen process that wakes up and does not know how late it is. */
export const NO_TIMERS: Timers = {
  after: () => ({ stop: () => undefined }),
  every: () => ({ stop: () => undefined }),
};
