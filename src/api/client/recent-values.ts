/** Keeps the values that were computed last, by key. Callers who ask during a computation share its result. */
export class RecentValues<Value> {
  readonly #most: number;
  readonly #kept = new Map<string, Promise<Value>>();

  /** @param most number of values to keep */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the value of a key. Computes it if it is not kept. A computation that fails is not kept. */
  async get(key: string, compute: () => Promise<Value>): Promise<Value> {
    const known = this.#kept.get(key);
    const value = known ?? compute();
    this.#kept.delete(key);
    this.#kept.set(key, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#most && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return await value;
    } catch (error) {
      if (this.#kept.get(key) === value) this.#kept.delete(key);
      throw error;
    }
  }

  /** Forgets all values whose key begins with `prefix`. */
  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}
