type Close = () => unknown;

/** What was opened one after the other, to be closed the other way round, however far that got. */
export class Closers {
  readonly #stack: Close[] = [];
  readonly #onError: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  /** @param onError told of a close that fails; the next one is done all the same */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** @throws Error where all is closed already: what comes so late is closed as well, and its opener goes no further */
  add(close: Close): void {
    this.#stack.push(close);
    if (this.#closing === undefined) return;
    void this.#closeAll();
    throw new Error('closed before all was opened');
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (let close = this.#stack.pop(); close !== undefined; close = this.#stack.pop()) {
      try {
        await close();
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}
