import { HttpProblem } from './problem.ts';

/**
 * Limits the requests that stay open: streams and requests that wait for a result. Each of them holds a connection and
 * at most one answer of Redis in memory.
 */
export class Readers {
  readonly #max: number;
  readonly #closing = new AbortController();
  #open = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Number of readers at this moment. */
  get open(): number {
    return this.#open;
  }

  /** Aborts with `server_stopping` when the server stops. Every reader then ends, and its client continues at another. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Counts a further reader.
   * @returns a function that ends the reader. Further calls of it do nothing.
   * @throws too_many_readers
   */
  enter(): () => void {
    this.checkPlace();
    this.#open += 1;
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#open -= 1;
      hasLeft = true;
    };
  }

  /**
   * Checks that a further reader has a place, before its request writes something.
   * @throws too_many_readers
   */
  checkPlace(): void {
    if (this.#open < this.#max) return;
    const why = `${this.#max} streams and waiting requests are open, the limit of this server`;
    throw new HttpProblem('too_many_readers', why, { retryAfter: 1 });
  }

  /** Runs a request that waits, as one of the readers. The signal aborts if the server stops or the caller leaves. */
  async run<Result>(request: Request, wait: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const leave = this.enter();
    try {
      return await wait(AbortSignal.any([request.signal, this.closing]));
    } finally {
      leave();
    }
  }

  /** Ends all readers. */
  close(): void {
    this.#closing.abort(new HttpProblem('server_stopping', 'the server stops. Connect again', { retryAfter: 1 }));
  }
}
