import { HttpProblem } from './problem.ts';

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/** Memory for large answers. Each reserves its size before it reads, and waits in order of arrival. */
export class AnswerMemory {
  readonly maxBytes: number;
  readonly #waitMs: number;
  readonly #waiting = new Set<Waiting>();
  #free: number;

  constructor(maxBytes: number, waitMs: number) {
    this.maxBytes = maxBytes;
    this.#free = maxBytes;
    this.#waitMs = waitMs;
  }

  /** @returns a function that gives the memory back. An answer that is larger than all memory gets all of it */
  async reserve(bytes: number, signal: AbortSignal): Promise<() => void> {
    const needed = Math.min(bytes, this.maxBytes);
    if (this.#waiting.size > 0 || needed > this.#free) await this.#wait(needed, signal);
    else this.#free -= needed;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#free += needed;
      this.#serve();
    };
  }

  async #wait(bytes: number, signal: AbortSignal): Promise<void> {
    const room = Promise.withResolvers<void>();
    const waiting = { bytes, begin: room.resolve };
    const leave = (reason: unknown): void => {
      if (!this.#waiting.delete(waiting)) return;
      room.reject(reason);
      this.#serve();
    };
    const abort = (): void => leave(signal.reason);
    const why = `other answers took the memory of this server for ${this.#waitMs} ms. Read pages of messages instead, or try again`;
    const timer = setTimeout(() => leave(new HttpProblem('too_many_readers', why, { retryAfter: 1 })), this.#waitMs);
    this.#waiting.add(waiting);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await room.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  #serve(): void {
    for (const waiting of this.#waiting) {
      if (waiting.bytes > this.#free) return;
      this.#waiting.delete(waiting);
      this.#free -= waiting.bytes;
      waiting.begin();
    }
  }
}
