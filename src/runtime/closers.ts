type Close = () => unknown;

/** Closes resources in reverse order of opening, also after a partial start. */
export class Closers {
  readonly #stack: Close[] = [];
  readonly #onError: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  /** @param onError receives the error of a close that failed. The remaining resources are closed too */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** @throws Error if everything is closed already. The new resource is closed at once, and the error stops its opener. */
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
