import type { Sliced } from '../sliced.ts';
import type { Part } from './fragments.ts';
import type { Fragment, Ledger } from './ledger.ts';

export interface CoverageRequest {
  readonly ledger: Ledger;
  /** Value of each term, by its index: negative for a term that would only take the place of others. */
  readonly values: Float64Array;
  /** Tokens of each fragment, by its index. */
  readonly tokens: Float64Array;
  readonly maxTokens: number;
  /** Tokens that the first fragment of a message costs besides its own. */
  readonly headTokens: number;
  /** Indexes of fragments that are shown in any case. Their terms count as covered. */
  readonly shown: readonly number[];
  /** Decides which fragments may be chosen. */
  readonly mayChoose: (index: number) => boolean;
}

/** Share of the budget that may stay unused. */
const MIN_LEFT = 0.03;

/** What fills a budget that nothing of value needs: the newest words of the agent, then its calls, users and results. */
function fillOrder({ fragments }: Ledger): number[] {
  const rank: Readonly<Record<Part, number>> = { statement: 0, call: 1, user: 2, result: 3 };
  return [...fragments.keys()]
    .filter((index) => (fragments[index] as Fragment).terms.length > 1)
    .toSorted((a, b) => {
      const [one, other] = [fragments[a] as Fragment, fragments[b] as Fragment];
      return rank[one.part] - rank[other.part] || other.message - one.message || a - b;
    });
}

/** Fragments between two yields. */
const SLICE_FRAGMENTS = 2_048;

/**
 * Chooses the fragments with the most value per token until the budget is full. A term counts once. Greedy choice is within
 * 1 − 1/e of the best for such a gain. Gains only fall while terms get covered, so a fragment is weighed again only
 * when it reaches the top.
 * @returns indexes in the order of the choice
 */
export function* chooseFragments(request: CoverageRequest): Sliced<number[]> {
  const { ledger, values, tokens, maxTokens, headTokens, shown, mayChoose } = request;
  const { fragments } = ledger;
  const covered = new Uint8Array(ledger.terms.length);
  const isOpen = new Uint8Array(ledger.messages);
  const cover = (index: number): void => {
    const { terms, message } = fragments[index] as Fragment;
    for (const term of terms) covered[term] = 1;
    isOpen[message] = 1;
  };
  for (const index of shown) cover(index);
  const costOf = (index: number): number =>
    (tokens[index] as number) + (isOpen[(fragments[index] as Fragment).message] === 1 ? 0 : headTokens);
  const densityOf = (index: number): number => {
    let gain = 0;
    for (const term of (fragments[index] as Fragment).terms) {
      const value = values[term] as number;
      if (covered[term] === 0) gain += value;
    }
    return gain / costOf(index);
  };
  const queue = new DensityQueue();
  const isShown = new Set(shown);
  for (let index = 0; index < fragments.length; index += 1) {
    if (!isShown.has(index) && mayChoose(index)) queue.push(index, densityOf(index));
    if (index % SLICE_FRAGMENTS === 0) yield;
  }
  const chosen: number[] = [];
  let left = maxTokens;
  for (let steps = 1; queue.size > 0; steps += 1) {
    const { index, density } = queue.pop();
    if (density <= 0) break;
    const now = densityOf(index);
    if (now < density) queue.push(index, now);
    else if (costOf(index) <= left) {
      left -= costOf(index);
      chosen.push(index);
      cover(index);
    }
    if (steps % SLICE_FRAGMENTS === 0) yield;
  }
  const taken = new Set([...shown, ...chosen]);
  for (const index of fillOrder(ledger)) {
    if (left < MIN_LEFT * maxTokens) break;
    if (taken.has(index) || !mayChoose(index) || costOf(index) > left) continue;
    left -= costOf(index);
    chosen.push(index);
    cover(index);
  }
  return chosen;
}

/** Binary heap, the densest first. Equal densities come in the order of their indexes. */
class DensityQueue {
  readonly #indexes: number[] = [];
  readonly #densities: number[] = [];

  get size(): number {
    return this.#indexes.length;
  }

  push(index: number, density: number): void {
    let at = this.#indexes.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(index, density, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#indexes[at] = index;
    this.#densities[at] = density;
  }

  pop(): { readonly index: number; readonly density: number } {
    const top = { index: this.#indexes[0] as number, density: this.#densities[0] as number };
    const index = this.#indexes.pop() as number;
    const density = this.#densities.pop() as number;
    const { size } = this;
    if (size === 0) return top;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const other = child + 1;
      if (other < size && this.#isBefore(this.#indexes[other] as number, this.#densities[other] as number, child))
        child = other;
      if (this.#isBefore(index, density, child)) break;
      this.#move(child, at);
      at = child;
    }
    this.#indexes[at] = index;
    this.#densities[at] = density;
    return top;
  }

  #isBefore(index: number, density: number, at: number): boolean {
    const other = this.#densities[at] as number;
    return density > other || (density === other && index < (this.#indexes[at] as number));
  }

  #move(from: number, to: number): void {
    this.#indexes[to] = this.#indexes[from] as number;
    this.#densities[to] = this.#densities[from] as number;
  }
}
