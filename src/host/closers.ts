type Close = () => unknown;

/** Closes resources in the reverse order of opening, even if only some of them were opened. */
export class Closers {
  readonly #stack: Close[] = [];
  readonly #onError: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /**
   * @throws Error after `close`. The new resource is then closed at once, and the error stops the code that opened it.
   */
  add(close: Close): void {
    this.#stack.push(close);
    if (this.#closing === undefined) return;
    void this.#closeAll();
    throw new Error('the workers were closed before all resources were opened');
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
