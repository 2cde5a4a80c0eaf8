import type { Literal } from './literals.ts';

/** The literals of messages and calls that were read before, for as long as those are held: passes read old ones again. */
export class KnownLiterals {
  readonly #known = new WeakMap<object, readonly Literal[]>();

  of(source: object, find: () => Iterable<Literal>): readonly Literal[] {
    const known = this.#known.get(source) ?? [...find()];
    this.#known.set(source, known);
    return known;
  }
}
