import type { Interruptible } from '../../domain/interruptible.ts';
import { type Dense, DensityQueue } from './density-queue.ts';
import type { Fragment, Ledger } from './ledger.ts';

export interface CoverageRequest {
  readonly ledger: Ledger;
  /** Value of each term, by its index. Negative for a term that is less likely needed than similar terms. */
  readonly values: Float64Array;
  readonly tokens: Float64Array;
  readonly maxTokens: number;
  /** Extra tokens for the first chosen fragment of a message. */
  readonly headTokens: number;
  /** Fragments that are shown in any case. Their terms count as covered. */
  readonly shown: readonly number[];
  /** Further terms that count as covered. */
  readonly covered?: readonly number[];
  /** Returns a fragment that must be chosen with the given fragment, unless it is shown already. Default: its owner. */
  readonly leadOf?: (index: number) => number | undefined;
  /**
   * True: remaining room is filled with fragments that add no term, because they may relate known terms in a new way.
   */
  readonly fillsUp?: boolean;
  /** True for a fragment such as one of many alike lines of a log. It is chosen only to fill room, and last. */
  readonly isSpare?: (index: number) => boolean;
  readonly mayChoose: (index: number) => boolean;
}

const SLICE_FRAGMENTS = 2_048;

/**
 * Chooses the fragments that gain most per token, until the budget is full (a greedy choice).
 *
 * A term counts once, so the gain of a fragment only falls while terms get covered. A fragment is therefore weighed
 * again only when it reaches the top of the queue, and not after each choice. If all gains are negative, the fragments
 * that lose least come first. @returns indexes in the order of the choice
 */
export function* chooseFragments(request: CoverageRequest): Interruptible<number[]> {
  const choice = new Choice(request);
  const queue = yield* queueFragments(request, choice);
  const rest: number[] = [];
  for (let steps = 1; queue.size > 0; steps += 1) {
    const { index, density } = queue.pop() as Dense;
    const now = choice.densityOf(index);
    if (now < density) queue.push({ index, density: now });
    else if (choice.addsTerm(index) && !choice.isSpare(index)) choice.take(index);
    else if (request.fillsUp === true) rest.push(index);
    if (steps % SLICE_FRAGMENTS === 0) yield;
  }
  for (const [steps, index] of choice.rank(rest).entries()) {
    if (!choice.isTaken(index)) choice.take(index);
    if (steps % SLICE_FRAGMENTS === 0) yield;
  }
  return choice.chosen;
}

function* queueFragments({ ledger, mayChoose }: CoverageRequest, choice: Choice): Interruptible<DensityQueue> {
  const queue = new DensityQueue();
  for (let index = 0; index < ledger.fragments.length; index += 1) {
    // A key says nothing without the values under it.
    const isKey = ledger.fragments[index]?.isKey === true;
    if (!isKey && !choice.isTaken(index) && mayChoose(index)) queue.push({ index, density: choice.densityOf(index) });
    if (index % SLICE_FRAGMENTS === 0) yield;
  }
  return queue;
}

class Choice {
  readonly chosen: number[] = [];
  #left: number;
  readonly #request: CoverageRequest;
  readonly #isTaken: Uint8Array;
  readonly #isCovered: Uint8Array;
  readonly #seenIn: Uint32Array;
  #round = 0;
  readonly #isRepresented: Uint8Array;

  constructor(request: CoverageRequest) {
    const { ledger, maxTokens, shown, covered = [] } = request;
    this.#request = request;
    this.#left = maxTokens;
    this.#isTaken = new Uint8Array(ledger.fragments.length);
    this.#isCovered = new Uint8Array(ledger.terms.length);
    this.#seenIn = new Uint32Array(ledger.terms.length);
    this.#isRepresented = new Uint8Array(ledger.messages);
    for (const index of shown) this.#cover(index);
    for (const term of covered) this.#isCovered[term] = 1;
  }

  isTaken(index: number): boolean {
    return this.#isTaken[index] === 1;
  }

  densityOf(index: number): number {
    let [gain, cost] = [0, 0];
    this.#round += 1;
    for (let at: number | undefined = index; at !== undefined; at = this.#openLead(at)) {
      for (const term of this.#fragment(at).terms) {
        if (this.#isCovered[term] === 1 || this.#seenIn[term] === this.#round) continue;
        this.#seenIn[term] = this.#round;
        gain += this.#request.values[term] as number;
      }
      cost += this.#costOf(at);
    }
    return gain / cost;
  }

  isSpare(index: number): boolean {
    return this.#request.isSpare?.(index) === true;
  }

  addsTerm(index: number): boolean {
    return this.#fragment(index).terms.some((term) => this.#isCovered[term] === 0);
  }

  /** Ranks fragments: spare ones last, then results first, then fragments without an owner, then the newest. */
  rank(indexes: readonly number[]): number[] {
    const rankOf = (index: number): number => {
      const { part, owner } = this.#fragment(index);
      return 2 * Number(part === 'result') + Number(owner < 0) - (this.isSpare(index) ? 4 : 0);
    };
    return indexes.toSorted((a, b) => rankOf(b) - rankOf(a) || b - a);
  }

  take(index: number): void {
    const taken: number[] = [];
    let cost = 0;
    for (let at: number | undefined = index; at !== undefined; at = this.#openLead(at)) {
      taken.push(at);
      cost += this.#costOf(at);
    }
    if (cost > this.#left) return;
    this.#left -= cost;
    for (const one of taken.toReversed()) {
      this.chosen.push(one);
      this.#cover(one);
    }
  }

  #openLead(index: number): number | undefined {
    const { leadOf } = this.#request;
    const { owner } = this.#fragment(index);
    const lead = leadOf === undefined ? (owner < 0 ? undefined : owner) : leadOf(index);
    return lead === undefined || lead === index || this.#isTaken[lead] === 1 ? undefined : lead;
  }

  #cover(index: number): void {
    const { terms, message } = this.#fragment(index);
    for (const term of terms) this.#isCovered[term] = 1;
    this.#isRepresented[message] = 1;
    this.#isTaken[index] = 1;
  }

  #costOf(index: number): number {
    const isRepresented = this.#isRepresented[this.#fragment(index).message] === 1;
    return (this.#request.tokens[index] as number) + (isRepresented ? 0 : this.#request.headTokens);
  }

  #fragment(index: number): Fragment {
    return this.#request.ledger.fragments[index] as Fragment;
  }
}
