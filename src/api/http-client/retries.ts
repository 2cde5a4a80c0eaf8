/** First pause between two attempts. A server that restarts often accepts requests within 100 ms. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;

/** Pauses between the attempts of one call. */
export class Retries {
  readonly #deadlineMs: number;
  #until: number | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
  }

  /** Called once the server answered. A later failure is a new outage, with a deadline of its own. */
  reset(): void {
    this.#until = undefined;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** @returns false if the deadline would pass before the next attempt, or the signal aborts */
  async wait(askedMs: number | undefined, signal: AbortSignal): Promise<boolean> {
    const failedAt = performance.now();
    this.#until ??= failedAt + this.#deadlineMs;
    // Jitter spreads the retries, because all calls of a service see the outage at the same time.
    const waitMs = Math.max(askedMs ?? 0, this.#pauseMs * (0.5 + Math.random() / 2));
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    if (failedAt + waitMs >= this.#until) return false;
    await pause(waitMs, signal);
    return !signal.aborted;
  }
}

export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const timer = setTimeout(wake, ms);
  signal?.addEventListener('abort', wake);
  await promise;
  signal?.removeEventListener('abort', wake);
  clearTimeout(timer);
}
