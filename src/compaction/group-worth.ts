import type { Interruptible } from '../domain/interruptible.ts';
import { type ContextEvidence, isShown } from './context-evidence.ts';
import { type Dense, DensityQueue } from './evidence/density-queue.ts';
import type { Fragment } from './evidence/ledger.ts';
import type { Layout } from './layout.ts';

const GROUPS_A_SLICE = 512;

/**
 * Orders groups by the value per token that is lost with them: the value of the terms that no other group shows. Among
 * equals, the oldest comes first, and summaries come last. Each removal makes other copies of its terms more valuable,
 * so a group is weighed again when it is next in the order.
 */
export function* orderByWorth(
  layout: Layout,
  candidates: readonly number[],
  evidence: ContextEvidence,
): Interruptible<number[]> {
  const terms = yield* readTerms(layout, evidence);
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
  // The cheapest group comes first, so worth counts as negative density.
  const queue = new DensityQueue();
  const push = (group: number): void => {
    const isSummary = groups[group]?.kind === 'summary';
    queue.push({ index: isSummary ? groups.length + group : group, density: -worthOf(group) });
  };
  for (const [index, group] of candidates.entries()) {
    push(group);
    if ((index + 1) % GROUPS_A_SLICE === 0) yield;
  }
  const order: number[] = [];
  for (let steps = 1; queue.size > 0; steps += 1) {
    const { index, density } = queue.pop() as Dense;
    const group = index % groups.length;
    if (worthOf(group) > -density) push(group);
    else {
      order.push(group);
      for (const term of terms[group] as readonly number[]) holders[term] = (holders[term] as number) - 1;
    }
    if (steps % GROUPS_A_SLICE === 0) yield;
  }
  return order;
}

function* readTerms({ items, groups }: Layout, { ledger, fragmentsOf }: ContextEvidence): Interruptible<number[][]> {
  const all: number[][] = [];
  const lastGroup = new Int32Array(ledger.terms.length);
  for (const [index, { positions }] of groups.entries()) {
    const own: number[] = [];
    for (const position of positions) {
      const item = items[position];
      if (item === undefined) continue;
      const { from, to } = fragmentsOf(item);
      for (let at = from; at < to; at += 1) {
        const fragment = ledger.fragments[at] as Fragment;
        if (!isShown(item, fragment)) continue;
        for (const term of fragment.terms) {
          if (lastGroup[term] === index + 1) continue;
          lastGroup[term] = index + 1;
          own.push(term);
        }
      }
    }
    all.push(own);
    if ((index + 1) % GROUPS_A_SLICE === 0) yield;
  }
  return all;
}
