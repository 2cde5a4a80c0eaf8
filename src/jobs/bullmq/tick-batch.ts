interface Call<Item, Reply> {
  readonly item: Item;
  readonly resolve: (reply: Reply | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the calls of one pass of the event loop, and runs them as one. A script costs Redis more than its commands. */
export class TickBatch<Item, Reply> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Reply[]>;
  #calls: Call<Item, Reply>[] = [];

  /** @param run returns replies in the order of the items, and may return fewer */
  constructor(run: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.#run = run;
  }

  /** Returns the reply for this item, or undefined if there is none. */
  add(item: Item): Promise<Reply | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply | undefined>();
    if (this.#calls.length === 0) setImmediate(() => void this.#flush());
    this.#calls.push({ item, resolve, reject });
    return promise;
  }

  async #flush(): Promise<void> {
    const calls = this.#calls;
    this.#calls = [];
    try {
      const replies = await this.#run(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(replies[index]);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
