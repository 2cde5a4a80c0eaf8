/** Maximum ms of token counting in an iteration of the event loop, which then stays below 50 ms on a busy machine. */
const SHARE_MS = 8;

const QUANTUM_MS = 1;

/** Runs a task for `QUANTUM_MS`. Returns true if the task has ended. */
type Task = () => boolean;

/**
 * Limits the token counting of a whole process in an iteration of the event loop. A limit for each task would not help:
 * 1,000 short counts never leave the microtask queue, and ten long counts all resume in one iteration. Tasks run in
 * turn for a millisecond each. Every second turn goes to a new task, so that short counts need not wait.
 */
export class EventLoopShare {
  readonly #fresh: Task[] = [];
  readonly #begun: Task[] = [];
  #isFreshNext = true;
  #isTurnMarked = false;
  #isServing = false;
  #endsMs = 0;

  get isIdle(): boolean {
    return this.#fresh.length + this.#begun.length === 0;
  }

  run<Result>(work: Generator<void, Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const serve: Task = () => {
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
    this.#fresh.push(serve);
    this.#serveWaiting();
    return promise;
  }

  #serveWaiting(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    while (!this.isIdle && !this.#isSpent()) {
      const [first, other] = this.#isFreshNext ? [this.#fresh, this.#begun] : [this.#begun, this.#fresh];
      this.#isFreshNext = !this.#isFreshNext;
      const serve = (first.shift() ?? other.shift()) as Task;
      if (!serve()) this.#begun.push(serve);
    }
    this.#isServing = false;
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

export const eventLoopShare = new EventLoopShare();
