/** At most this much of one turn of the event loop, so that a busy machine's slowness leaves it below 50. */
const SHARE_MS = 8;

/** How long one piece of work runs before the next is served. */
const QUANTUM_MS = 1;

interface Waiting {
  /** Runs for a quantum. True: it has ended, and its caller has the result. */
  serve(): boolean;
}

/**
 * Limits what all sliced work of a process together takes of one turn of the event loop. A limit per piece of work would not do:
 * a loop that awaits 1,000 short counts never leaves the microtask queue, and ten long counts would resume in the same turn.
 *
 * Waiting work is served in turns, a millisecond each. Work that has not been served yet takes every other quantum: a short
 * count waits for no long one, however many of these there are, and the long ones still go on.
 */
export class EventLoopShare {
  readonly #fresh: Waiting[] = [];
  readonly #begun: Waiting[] = [];
  #isFreshNext = true;
  #isTurnMarked = false;
  #isServing = false;
  #endsMs = 0;

  /** Whether no work waits for its next slice. */
  get isIdle(): boolean {
    return this.#fresh.length + this.#begun.length === 0;
  }

  /** Runs the work to its end, in slices as its yields permit. */
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
    // Work may ask for more work while it is served.
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
    // One of the two has work: the caller has looked.
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

/** A process has one event loop: whatever is sliced shares this. */
export const eventLoopShare = new EventLoopShare();
