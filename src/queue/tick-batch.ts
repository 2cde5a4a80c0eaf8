interface Call<Item, Reply> {
  readonly item: Item;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the calls of one pass of the event loop, and runs them as one. A script costs Redis more than its commands. */
export class TickBatch<Item, Reply> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Reply[]>;
  #calls: Call<Item, Reply>[] = [];

  /** @param run returns a reply for each item, in their order */
  constructor(run: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.#run = run;
  }

  add(item: Item): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    if (this.#calls.length === 0) setImmediate(() => void this.#flush());
    this.#calls.push({ item, resolve, reject });
    return promise;
  }

  async #flush(): Promise<void> {
    const calls = this.#calls;
    this.#calls = [];
    try {
      const replies = await this.#run(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(replies[index] as Reply);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
