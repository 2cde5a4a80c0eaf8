/** Credit of a call, cost of a refused call, and the most credit that a model can have. */
const [CALL, REFUSED, MOST] = [1, 21, 60];

/**
 * Decides for each model which refusals say that its provider limits calls. A healthy provider refuses some calls at random, as
 * overloaded and without a time. If more than 20 other calls were made for each such refusal, the refusal concerns its own call
 * only. With a pause for each refusal, 2 % of refusals lower 100 calls a second to about 10.
 *
 * Calls count when they begin, because an answer may take minutes and a refusal comes at once.
 */
export class RefusalCredit {
  readonly #credits = new Map<string, number>();

  noteCall(model: string): void {
    const credit = this.#creditOf(model);
    if (credit < MOST) this.#credits.set(model, credit + CALL);
  }

  /**
   * Notes a refusal without a time.
   * @returns true if the refusal concerns its own call only
   */
  spend(model: string): boolean {
    const credit = this.#creditOf(model);
    if (credit < REFUSED) return false;
    this.#credits.set(model, credit - REFUSED);
    return true;
  }

  #creditOf(model: string): number {
    return this.#credits.get(model) ?? 0;
  }
}
