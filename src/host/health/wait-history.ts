import { HOUR_MINUTES } from '../../jobs/bullmq/queue-reports.ts';

const MINUTE_MS = 60_000;

/** Longest wait of a job in each of the last 60 minutes, as far as this process has measured it. */
export class WaitHistory {
  /** Longest wait in ms, by minute since epoch. */
  readonly #longest = new Map<number, number>();

  note(at: number, waitMs: number): void {
    const minute = Math.floor(at / MINUTE_MS);
    this.#longest.set(minute, Math.max(waitMs, this.#longest.get(minute) ?? 0));
    for (const kept of this.#longest.keys()) if (kept <= minute - HOUR_MINUTES) this.#longest.delete(kept);
  }

  /** Oldest minute first. null: this process measured nothing in that minute. */
  list(at: number): (number | null)[] {
    const first = Math.floor(at / MINUTE_MS) - HOUR_MINUTES + 1;
    return Array.from({ length: HOUR_MINUTES }, (_, index) => this.#longest.get(first + index) ?? null);
  }
}
