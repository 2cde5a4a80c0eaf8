import type { Group } from '../group.ts';
import type { Sliced } from '../sliced.ts';
import { type ContextEvidence, isShown } from './evidence.ts';
import type { Layout } from './layout.ts';

/** Groups that are weighed between two yields. */
const GROUPS_A_SLICE = 512;

/**
 * Orders groups by what their loss costs: the value of the terms that no other group shows, per token. The cheapest comes first.
 * Each removal makes the remaining copies of its terms more valuable. So a group is weighed again when it reaches the
 * top. Equal groups come oldest first, summaries last.
 * @param candidates indexes of the groups to order
 */
export function* orderByWorth(
  layout: Layout,
  candidates: readonly number[],
  evidence: ContextEvidence,
): Sliced<number[]> {
  const terms = yield* readTerms(layout, evidence);
  /** Groups that show each term. */
  const holders = new Uint32Array(evidence.ledger.terms.length);
  for (const own of terms) for (const term of own) holders[term] = (holders[term] as number) + 1;
  yield;
  const worthOf = (group: number): number => {
    let worth = 0;
    for (const term of terms[group] as readonly number[])
      if (holders[term] === 1) worth += Math.max(0, evidence.values[term] as number);
    return worth / Math.max(1, layout.groupWeights[group]?.tokens ?? 0);
  };
  const { groups } = layout;
  const isBefore = (a: Weighed, b: Weighed): boolean => {
    if (a.worth !== b.worth) return a.worth < b.worth;
    const [isSummary, isOther] = [isSummaryAt(groups, a.group), isSummaryAt(groups, b.group)];
    return isSummary === isOther ? a.group < b.group : isOther;
  };
  const heap = new WorthHeap(isBefore);
  for (const [index, group] of candidates.entries()) {
    heap.push({ group, worth: worthOf(group) });
    if ((index + 1) % GROUPS_A_SLICE === 0) yield;
  }
  const order: number[] = [];
  for (let steps = 1; heap.size > 0; steps += 1) {
    const { group, worth } = heap.pop();
    const now = worthOf(group);
    if (now > worth) heap.push({ group, worth: now });
    else {
      order.push(group);
      for (const term of terms[group] as readonly number[]) holders[term] = (holders[term] as number) - 1;
    }
    if (steps % GROUPS_A_SLICE === 0) yield;
  }
  return order;
}

function isSummaryAt(groups: readonly Group[], group: number): boolean {
  return groups[group]?.kind === 'summary';
}

/** Terms that each group shows, each once. */
function* readTerms({ items, groups }: Layout, { ledger, fragmentsOf }: ContextEvidence): Sliced<number[][]> {
  const all: number[][] = [];
  for (const [index, { positions }] of groups.entries()) {
    const own = new Set<number>();
    for (const position of positions) {
      const item = items[position];
      if (item === undefined) continue;
      for (const at of fragmentsOf(item)) {
        const fragment = ledger.fragments[at];
        if (fragment !== undefined && isShown(item, fragment)) for (const term of fragment.terms) own.add(term);
      }
    }
    all.push([...own]);
    if ((index + 1) % GROUPS_A_SLICE === 0) yield;
  }
  return all;
}

interface Weighed {
  readonly group: number;
  readonly worth: number;
}

/** Binary heap, the first by `isBefore` on top. */
class WorthHeap {
  readonly #entries: Weighed[] = [];
  readonly #isBefore: (a: Weighed, b: Weighed) => boolean;

  constructor(isBefore: (a: Weighed, b: Weighed) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#entries.length;
  }

  push(entry: Weighed): void {
    let at = this.#entries.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(entry, this.#entries[parent] as Weighed)) break;
      this.#entries[at] = this.#entries[parent] as Weighed;
      at = parent;
    }
    this.#entries[at] = entry;
  }

  pop(): Weighed {
    const top = this.#entries[0] as Weighed;
    const entry = this.#entries.pop() as Weighed;
    const { size } = this;
    if (size === 0) return top;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const other = child + 1;
      if (other < size && this.#isBefore(this.#entries[other] as Weighed, this.#entries[child] as Weighed))
        child = other;
      if (!this.#isBefore(this.#entries[child] as Weighed, entry)) break;
      this.#entries[at] = this.#entries[child] as Weighed;
      at = child;
    }
    this.#entries[at] = entry;
    return top;
  }
}
