/** Milliseconds per turn of the event loop. Low enough that a turn stays below 50 ms on a busy machine. */
const SHARE_MS = 8;

/** Milliseconds that one piece of work runs before the next. */
const QUANTUM_MS = 1;

interface Waiting {
  /** Runs the work for a quantum. Returns true if the work has ended and its caller has the result. */
  serve(): boolean;
}

/**
 * Limits the time that all sliced work of a process takes in one turn of the event loop. A limit per piece of work would
 * not help. 1,000 short counts in a row never leave the microtask queue. Ten long counts would resume in one turn.
 *
 * Waiting pieces run in rotation, a millisecond each. Every other quantum goes to new work. So a short count does not
 * wait for long ones, and the long ones still continue.
 */
export class EventLoopShare {
  readonly #fresh: Waiting[] = [];
  readonly #begun: Waiting[] = [];
  #isFreshNext = true;
  #isTurnMarked = false;
  #isServing = false;
  #endsMs = 0;

  /** True if no work waits for its next slice. */
  get isIdle(): boolean {
    return this.#fresh.length + this.#begun.length === 0;
  }

  /** Runs the work to its end, interrupted at its yields. */
  run<Result>(work: Generator<void, Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const serve = (): boolean => {
      try {
        const endsMs = performance.now() + QUANTUM_MS;
        do {
          const slice = work.next();
          if (slice.done === true) {
            resolve(slice.value);
            return true;
          }
        } while (performance.now() < endsMs);
        return false;
      } catch (error) {
        reject(error);
        return true;
      }
    };
    this.#fresh.push({ serve });
    this.#serveWaiting();
    return promise;
  }

  #serveWaiting(): void {
    // Running work may add more work.
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#fresh.length + this.#begun.length > 0 && !this.#isSpent()) {
      const next = this.#takeNext();
      if (!next.serve()) this.#begun.push(next);
    }
    this.#isServing = false;
  }

  #takeNext(): Waiting {
    const [first, other] = this.#isFreshNext ? [this.#fresh, this.#begun] : [this.#begun, this.#fresh];
    this.#isFreshNext = !this.#isFreshNext;
    // One of the two lists has work, as the caller checked.
    return (first.shift() ?? other.shift()) as Waiting;
  }

  #isSpent(): boolean {
    const nowMs = performance.now();
    if (!this.#isTurnMarked) {
      this.#isTurnMarked = true;
      this.#endsMs = nowMs + SHARE_MS;
      setImmediate(() => {
        this.#isTurnMarked = false;
        this.#serveWaiting();
      });
    }
    return nowMs >= this.#endsMs;
  }
}

/** The share of this process. A process has one event loop, so all sliced work uses this instance. */
export const eventLoopShare = new EventLoopShare();
