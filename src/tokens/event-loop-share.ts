/** At most this much of one turn of the event loop, so that a busy machine's slowness leaves it below 50. */
const SHARE_MS = 8;

/**
 * Limits what all counts together take of one turn of the event loop. A limit per count would not do: a loop that awaits
 * 1,000 short counts never leaves the microtask queue, and ten long counts would resume in the same turn.
 */
export class EventLoopShare {
  #turn: Promise<void> | undefined;
  #endsMs = 0;

  /** Runs the work to its end, in slices as its yields permit. First come, first served. */
  async run<Result>(work: Generator<void, Result>): Promise<Result> {
    for (;;) {
      while (this.#isSpent()) await this.#turn;
      const slice = work.next();
      if (slice.done) return slice.value;
    }
  }

  #isSpent(): boolean {
    const nowMs = performance.now();
    if (this.#turn === undefined) {
      this.#endsMs = nowMs + SHARE_MS;
      this.#turn = new Promise((resolve) => {
        setImmediate(() => {
          this.#turn = undefined;
          resolve();
        });
      });
    }
    return nowMs >= this.#endsMs;
  }
}
