import type { EvictionStrategy } from '../domain/eviction-strategy.ts';
import { addWeights, NO_WEIGHT, type Weight } from '../domain/message.ts';
import { isFloor, type Layout } from './layout.ts';

interface CutRequest {
  readonly order: readonly number[];
  /** Extent of the eviction that the policy asks for. Absent: only as much as the budget needs is evicted. */
  readonly strategy?: EvictionStrategy;
  /** Weight by which the context exceeds the budget. Zero if the pass need not reach a budget. */
  readonly excess: Weight;
  /** Maximum tokens that the strategy may remove, so that enough of the budget stays filled. */
  readonly spareTokens?: number;
}

export interface Cut {
  readonly groups: ReadonlySet<number>;
  readonly weight: Weight;
}

/**
 * Chooses the groups to evict.
 * 1. Take groups along the order until the excess is gone. Give back the last taken groups that fit again.
 * 2. Take the extent that the strategy asks for, while enough stays.
 * 3. Extend the cut until the context starts with a legal message. If too little would stay, put back the user message
 * or summary before the cut, and take other groups instead.
 */
export function cutContext(layout: Layout, request: CutRequest): Cut {
  const { order, strategy, excess, spareTokens = Infinity } = request;
  const cut = new GroupCut(layout);
  cut.takeUntil(order, excess);
  cut.refill(excess);
  const extent = strategy === undefined ? [] : order.slice(0, strategyLength(strategy, layout, order));
  for (const group of extent) {
    if (cut.weight.tokens + cut.tokensOf(group) > spareTokens) break;
    cut.take(group);
  }
  if (cut.groups.size > 0) openLegally(layout, cut, request);
  return cut;
}

/** @param isLastResort true to take the request and unread results, of which only the newest group stays */
export function cutFloor(layout: Layout, excess: Weight, isLastResort = false): Cut {
  const cut = new GroupCut(layout);
  const order = isLastResort ? lastResort(layout) : floorOrder(layout);
  cut.takeUntil(order, excess);
  if (cut.groups.size > 0) openLegally(layout, cut, { order, excess });
  return cut;
}

class GroupCut implements Cut {
  readonly groups = new Set<number>();
  readonly #layout: Layout;
  weight = NO_WEIGHT;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  tokensOf(group: number): number {
    return this.#weightOf(group).tokens;
  }

  take(group: number): void {
    if (this.groups.has(group)) return;
    this.groups.add(group);
    this.weight = addWeights(this.weight, this.#weightOf(group));
  }

  takeUntil(order: readonly number[], excess: Weight): void {
    for (const group of order) {
      if (covers(this.weight, excess)) return;
      this.take(group);
    }
  }

  refill(excess: Weight): void {
    for (const group of [...this.groups].toReversed()) this.putBack(group, excess);
  }

  /** @returns false if the context would exceed the budget with the group, which then stays out */
  putBack(group: number, excess: Weight): boolean {
    const { tokens, bytes } = this.#weightOf(group);
    const left = { tokens: this.weight.tokens - tokens, bytes: this.weight.bytes - bytes };
    if (!covers(left, excess)) return false;
    this.groups.delete(group);
    this.weight = left;
    return true;
  }

  #weightOf(group: number): Weight {
    return this.#layout.groupWeights[group] ?? NO_WEIGHT;
  }
}

/** Lists droppable groups, oldest first, and all other groups that may go. Summaries of this pass stay. */
export function evictionCandidates({ groups, protections, items, droppable: wanted }: Layout): {
  readonly droppable: readonly number[];
  readonly others: readonly number[];
} {
  const droppable: number[] = [];
  const others: number[] = [];
  groups.forEach(({ positions }, index) => {
    if (protections[index] !== undefined || positions.some((position) => items[position]?.isFresh === true)) return;
    (wanted.has(index) ? droppable : others).push(index);
  });
  return { droppable, others };
}

/** The first user message goes last, because it states the purpose of the conversation. */
function floorOrder({ groups, protections, items, firstUserGroup }: Layout): number[] {
  const floor = [...groups.keys()].filter((group) => {
    const isFresh = groups[group]?.positions.some((position) => items[position]?.isFresh === true);
    return isFloor(protections[group]) && protections[group] !== 'request' && isFresh !== true;
  });
  const isFirst = (group: number): boolean => group === firstUserGroup;
  return [...floor.filter((group) => !isFirst(group)), ...floor.filter(isFirst)];
}

/** The request and unread results, oldest first. The newest group stays. */
function lastResort({ groups, protections }: Layout): number[] {
  const older = [...groups.keys()].slice(0, -1);
  return older.filter((group) => protections[group] === 'request' || protections[group] === 'unread');
}

function strategyLength(strategy: EvictionStrategy, layout: Layout, order: readonly number[]): number {
  if ('min' in strategy) return Math.min(...strategy.min.map((member) => strategyLength(member, layout, order)));
  if ('max' in strategy) return Math.max(...strategy.max.map((member) => strategyLength(member, layout, order)));
  return 'evict' in strategy
    ? shortestWithShare(layout, order, strategy.evict)
    : longestThatLeaves(layout, order, strategy.retain);
}

function shortestWithShare(layout: Layout, order: readonly number[], share: number): number {
  const total = sumWeights(layout, order).tokens;
  let tokens = 0;
  let length = 0;
  // A division gives exactly 0.55 for 55 of 100 tokens. The product 0.55 × 100 would be more than 55.
  while (length < order.length && tokens / total < share) {
    tokens += layout.groupWeights[order[length] as number]?.tokens ?? 0;
    length += 1;
  }
  return length;
}

function longestThatLeaves(layout: Layout, order: readonly number[], messages: number): number {
  let left = layout.items.length;
  let length = 0;
  for (const group of order) {
    left -= layout.groups[group]?.positions.length ?? 0;
    if (left < messages) break;
    length += 1;
  }
  return length;
}

/**
 * Extends the cut until the context starts with a legal message. The cut may go below `retain`, but never into
 * protected groups. Before a protected group, the renderer adds a placeholder.
 */
function openLegally(layout: Layout, cut: GroupCut, { order, excess, spareTokens = Infinity }: CutRequest): void {
  const { before, illegal } = findOpening(layout, cut.groups);
  if (illegal.length === 0) return;
  const tokens = illegal.reduce((sum, group) => sum + cut.tokensOf(group), 0);
  if (before !== undefined && cut.weight.tokens + tokens > spareTokens) {
    if (cut.putBack(before, NO_WEIGHT))
      cut.takeUntil(
        order.filter((group) => group !== before),
        excess,
      );
    if (covers(cut.weight, excess)) return;
    cut.take(before);
  }
  // If no user message was cut and too little would stay, the context may start with another role. Rendering then puts
  // a placeholder first.
  if (before === undefined && cut.weight.tokens + tokens > spareTokens) return;
  for (const group of findOpening(layout, cut.groups).illegal) cut.take(group);
}

/** Finds the groups that may not come first, and the last user message or summary that was cut before them. */
function findOpening(layout: Layout, cut: ReadonlySet<number>) {
  const illegal = new Set<number>();
  let before: number | undefined;
  for (const [position, { message }] of layout.items.entries()) {
    const { role } = message;
    const group = layout.groupOf[position] as number;
    const isLegal = role === 'user' || role === 'summary';
    if (cut.has(group)) {
      if (isLegal && illegal.size === 0) before = group;
      continue;
    }
    if (role === 'system') continue;
    if (isLegal || layout.protections[group] !== undefined) break;
    illegal.add(group);
  }
  return { before, illegal: [...illegal] };
}

function sumWeights(layout: Layout, groups: Iterable<number>): Weight {
  let sum = NO_WEIGHT;
  for (const group of groups) sum = addWeights(sum, layout.groupWeights[group] ?? NO_WEIGHT);
  return sum;
}

function covers(gone: Weight, excess: Weight): boolean {
  return gone.tokens >= excess.tokens && gone.bytes >= excess.bytes;
}
