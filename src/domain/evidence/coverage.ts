import type { Sliced } from '../sliced.ts';
import { type Dense, DensityQueue } from './density-queue.ts';
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

/** Fragments between two yields. */
const SLICE_FRAGMENTS = 2_048;
/** Share of the budget that may stay unused. */
const MAX_UNUSED = 0.03;

/**
 * Chooses the fragments with the most value per token until the budget is full, then the newest ones. A term counts once.
 * @returns indexes in the order of the choice
 */
export function* chooseFragments(request: CoverageRequest): Sliced<number[]> {
  const choice = new Choice(request);
  yield* chooseByDensity(choice, request);
  yield* fillRest(choice, request);
  return choice.chosen;
}

/**
 * Greedy choice of what gains most per token. Gains only fall while terms get covered, so a fragment is weighed again only
 * when it reaches the top.
 */
function* chooseByDensity(choice: Choice, { ledger, mayChoose }: CoverageRequest): Sliced<void> {
  const queue = new DensityQueue();
  for (let index = 0; index < ledger.fragments.length; index += 1) {
    if (!choice.isTaken(index) && mayChoose(index)) queue.push({ index, density: choice.densityOf(index) });
    if (index % SLICE_FRAGMENTS === 0) yield;
  }
  for (let steps = 1; queue.size > 0; steps += 1) {
    const { index, density } = queue.pop() as Dense;
    if (density <= 0) break;
    const now = choice.densityOf(index);
    if (now < density) queue.push({ index, density: now });
    else choice.take(index);
    if (steps % SLICE_FRAGMENTS === 0) yield;
  }
}

/** Parts in the order in which they fill a budget that nothing of value needs. */
const FILL_PARTS: readonly Part[] = ['statement', 'call', 'user', 'result'];
/** A fragment with fewer terms says nothing. */
const MIN_FILL_TERMS = 2;

/** Takes fragments of one part after the other, the newest message first, until the budget is nearly full. */
function* fillRest(choice: Choice, { ledger, maxTokens, mayChoose }: CoverageRequest): Sliced<void> {
  const newestFirst = orderNewestFirst(ledger);
  yield;
  for (const part of FILL_PARTS) {
    for (const [step, index] of newestFirst.entries()) {
      if (choice.left < MAX_UNUSED * maxTokens) return;
      const fragment = ledger.fragments[index] as Fragment;
      const isFilling = fragment.part === part && fragment.terms.length >= MIN_FILL_TERMS;
      if (isFilling && !choice.isTaken(index) && mayChoose(index)) choice.take(index);
      if (step % SLICE_FRAGMENTS === 0) yield;
    }
  }
}

/** Indexes of fragments, the newest message first, and within a message in their order. Linear, without a sort. */
function orderNewestFirst({ fragments }: Ledger): Int32Array {
  const order = new Int32Array(fragments.length);
  let at = fragments.length;
  for (let from = 0, to = 0; from < fragments.length; from = to) {
    while (to < fragments.length && fragments[to]?.message === fragments[from]?.message) to += 1;
    at -= to - from;
    for (let index = from; index < to; index += 1) order[at + index - from] = index;
  }
  return order;
}

/** Fragments chosen so far, and what they cover. */
class Choice {
  readonly chosen: number[] = [];
  /** Tokens of the budget that are not used yet. */
  left: number;
  readonly #request: CoverageRequest;
  readonly #isTaken: Uint8Array;
  readonly #isCovered: Uint8Array;
  /** 1 for a message that has a fragment already. */
  readonly #isOpen: Uint8Array;

  constructor(request: CoverageRequest) {
    const { ledger, maxTokens, shown } = request;
    this.#request = request;
    this.left = maxTokens;
    this.#isTaken = new Uint8Array(ledger.fragments.length);
    this.#isCovered = new Uint8Array(ledger.terms.length);
    this.#isOpen = new Uint8Array(ledger.messages);
    for (const index of shown) this.#cover(index);
  }

  isTaken(index: number): boolean {
    return this.#isTaken[index] === 1;
  }

  densityOf(index: number): number {
    let gain = 0;
    for (const term of this.#fragment(index).terms) {
      if (this.#isCovered[term] === 0) gain += this.#request.values[term] as number;
    }
    return gain / this.#costOf(index);
  }

  /** Takes the fragment if the budget has room for it. */
  take(index: number): void {
    const cost = this.#costOf(index);
    if (cost > this.left) return;
    this.left -= cost;
    this.chosen.push(index);
    this.#cover(index);
  }

  #cover(index: number): void {
    const { terms, message } = this.#fragment(index);
    for (const term of terms) this.#isCovered[term] = 1;
    this.#isOpen[message] = 1;
    this.#isTaken[index] = 1;
  }

  #costOf(index: number): number {
    const isOpen = this.#isOpen[this.#fragment(index).message] === 1;
    return (this.#request.tokens[index] as number) + (isOpen ? 0 : this.#request.headTokens);
  }

  #fragment(index: number): Fragment {
    return this.#request.ledger.fragments[index] as Fragment;
  }
}
