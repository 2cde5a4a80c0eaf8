type Close = () => unknown;

/** Closes resources in reverse order of opening, also after a partial start. */
export class Closers {
  readonly #stack: Close[] = [];
  readonly #onError: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  /** @param onError receives the error of a close that failed, after which the next one runs */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** @throws Error if everything is closed already. The late resource is closed too, and its opener stops. */
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
