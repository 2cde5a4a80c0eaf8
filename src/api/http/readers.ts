import { HttpProblem } from './problem.ts';

/** Requests that stay open: streams, and requests that wait. Each holds at most one answer of Redis in memory. */
export interface Readers {
  /** Aborts with an error when the server stops, or an open request has lost its access. Every reader then ends. */
  readonly closing: AbortSignal;
  /** Checks that a further reader has a place. @throws too_many_readers */
  checkPlace(): void;
  /** Counts a further reader. @returns a function that ends the reader @throws too_many_readers */
  enter(): () => void;
  /** Runs a request that waits. The signal aborts if the server stops, or the caller leaves or loses its access. */
  run<Result>(request: Request, wait: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

interface ReaderLimits {
  readonly maxReaders: number;
  readonly accessCheckMs: number;
  /** Receives the error of an access check that could not run, e.g. because Redis is away. */
  readonly onError: (error: unknown) => void;
}

export class ServerReaders {
  readonly #limits: ReaderLimits;
  readonly #closing = new AbortController();
  #open = 0;

  constructor(limits: ReaderLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#open;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  checkPlace(): void {
    const { maxReaders } = this.#limits;
    if (this.#open < maxReaders) return;
    const why = `${maxReaders} streams and waiting requests are open, the limit of this server`;
    throw new HttpProblem('too_many_readers', why, { retryAfter: 1 });
  }

  enter(): () => void {
    this.checkPlace();
    this.#open += 1;
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#open -= 1;
      hasLeft = true;
    };
  }

  /** @param checkAccess throws if the caller has lost its access. Called again and again while a reader is open */
  forRequest(checkAccess: () => Promise<unknown>): Readers {
    return new RequestReaders(this, checkAccess, this.#limits);
  }

  close(): void {
    this.#closing.abort(
      new HttpProblem('server_stopping', 'the server is shutting down. Retry after 1 s', { retryAfter: 1 }),
    );
  }
}

/** After any other error, the caller keeps its access: the check itself failed. */
const LOST_ACCESS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden']);
/** After so many failed checks in a row, the caller loses its access. */
const MAX_FAILED_CHECKS = 15;

class RequestReaders implements Readers {
  readonly #server: ServerReaders;
  readonly #checkAccess: () => Promise<unknown>;
  readonly #limits: ReaderLimits;
  readonly #lost = new AbortController();
  #closing: AbortSignal | undefined;

  constructor(server: ServerReaders, checkAccess: () => Promise<unknown>, limits: ReaderLimits) {
    this.#server = server;
    this.#checkAccess = checkAccess;
    this.#limits = limits;
  }

  get closing(): AbortSignal {
    this.#closing ??= AbortSignal.any([this.#server.closing, this.#lost.signal]);
    return this.#closing;
  }

  checkPlace(): void {
    this.#server.checkPlace();
  }

  enter(): () => void {
    const leave = this.#server.enter();
    const timer = this.#watch();
    return () => {
      clearInterval(timer);
      leave();
    };
  }

  async run<Result>(request: Request, wait: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const leave = this.enter();
    const lost = this.#lost.signal;
    const refused = Promise.withResolvers<never>();
    lost.addEventListener('abort', () => refused.reject(lost.reason as Error), { once: true });
    try {
      // A caller that lost its access gets the error at once, even if the wait ignores its signal.
      return await Promise.race([refused.promise, wait(AbortSignal.any([request.signal, this.closing]))]);
    } finally {
      leave();
    }
  }

  #watch(): NodeJS.Timeout | undefined {
    const { accessCheckMs, onError } = this.#limits;
    if (accessCheckMs === 0) return undefined;
    let failed = 0;
    const check = async (): Promise<void> => {
      failed += 1;
      if (failed > MAX_FAILED_CHECKS) this.#lost.abort(new HttpProblem('unauthorized', 'the caller cannot be checked'));
      try {
        await this.#checkAccess();
        failed = 0;
      } catch (error) {
        if (error instanceof HttpProblem && LOST_ACCESS.has(error.code)) this.#lost.abort(error);
        else onError(error);
      }
    };
    return setInterval(() => void check(), accessCheckMs).unref();
  }
}
