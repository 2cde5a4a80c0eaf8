import type { Timers } from '../../../src/workers/timers.ts';

interface Entry {
  dueAt: number;
  readonly call: () => void;
}

/**
 * Lets started tasks run until each waits for a timer or for I/O. The in-process Redis answers without either, so calls of its
 * store end in between.
 */
export async function settleTasks(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** A clock with timers that a test advances by hand. */
export class ManualTimers implements Timers {
  #now: number;
  readonly #entries = new Set<Entry>();

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  /** ms since epoch */
  now(): number {
    return this.#now;
  }

  /** Number of timers that would still fire. It must be 0 after a delivery has ended. */
  get pending(): number {
    return this.#entries.size;
  }

  every(ms: number, call: () => Promise<void>): { stop(): void } {
    let isStopped = false;
    let timer = { stop: (): void => {} };
    const schedule = (): void => {
      if (!isStopped) timer = this.after(ms, () => void call().then(schedule, schedule));
    };
    schedule();
    return {
      stop: () => {
        isStopped = true;
        timer.stop();
      },
    };
  }

  after(ms: number, call: () => void): { stop(): void } {
    const entry: Entry = { dueAt: this.#now + ms, call };
    this.#entries.add(entry);
    return { stop: () => this.#entries.delete(entry) };
  }

  /** Advances the clock, and fires the timers that become due, in order. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#entries].filter(({ dueAt }) => dueAt <= end).toSorted((a, b) => a.dueAt - b.dueAt);
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.dueAt);
      this.#entries.delete(next);
      next.call();
      await settleTasks();
    }
    this.#now = end;
  }
}
