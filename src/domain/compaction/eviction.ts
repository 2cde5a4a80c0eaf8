import { addWeights, NO_WEIGHT, type Weight } from '../message.ts';
import type { EvictionStrategy } from '../policy.ts';
import { isFloor, type Layout } from './layout.ts';

export interface CutRequest {
  /** Extent that the policy asks for. Absent: only what the budget needs. */
  readonly strategy?: EvictionStrategy;
  /** Weight above the budget. Zero if the budget is no target. */
  readonly excess: Weight;
  /** Permission to cut the floor if the other groups are not enough. */
  readonly mayRelaxFloor: boolean;
}

export interface Cut {
  readonly groups: ReadonlySet<number>;
  readonly weight: Weight;
  readonly isFloorRelaxed: boolean;
}

/**
 * Chooses the groups to evict. The eviction list starts with groups whose messages are all droppable, then the others,
 * each oldest first. Summaries come last.
 * 1. Take the extent that the strategy asks for.
 * 2. Continue along the list until the excess is gone.
 * 3. If allowed, continue with the floor, oldest first.
 * 4. Extend the cut until the context starts with a legal message.
 */
export function cutContext(layout: Layout, request: CutRequest): Cut {
  const order = evictionOrder(layout);
  const length = request.strategy === undefined ? 0 : strategyLength(request.strategy, layout, order);
  const cut = new Set(order.slice(0, length));
  let weight = sumWeights(layout, cut);
  const take = (group: number): void => {
    cut.add(group);
    weight = addWeights(weight, layout.groupWeights[group] ?? NO_WEIGHT);
  };
  for (const group of order.slice(length)) {
    if (covers(weight, request.excess)) break;
    take(group);
  }
  const kept = cut.size;
  for (const group of request.mayRelaxFloor ? floorOrder(layout) : []) {
    if (covers(weight, request.excess)) break;
    take(group);
  }
  const isFloorRelaxed = cut.size > kept;
  if (cut.size > 0) extendToLegalStart(layout, cut, take);
  return { groups: cut, weight, isFloorRelaxed };
}

/** The eviction list: droppable groups, other groups, summaries, each oldest first. */
function evictionOrder({ groups, protections, items }: Layout): number[] {
  const droppable: number[] = [];
  const others: number[] = [];
  const summaries: number[] = [];
  groups.forEach(({ kind, positions }, index) => {
    if (protections[index] !== undefined) return;
    if (kind === 'summary') {
      const isFresh = positions.some(
        (position) => items[position]?.segment?.kind === 'summary' && items[position]?.isFresh === true,
      );
      if (!isFresh) summaries.push(index);
    } else if (positions.every((position) => items[position]?.message.droppable === true)) droppable.push(index);
    else others.push(index);
  });
  return [...droppable, ...others, ...summaries];
}

/** Floor groups, oldest first. The first user message goes last, because it states the purpose of the conversation. */
function floorOrder({ groups, protections, firstUserGroup }: Layout): number[] {
  const floor = groups
    .keys()
    .filter((index) => isFloor(protections[index]))
    .toArray();
  const isFirst = (index: number): boolean => index === firstUserGroup;
  return [...floor.filter((index) => !isFirst(index)), ...floor.filter(isFirst)];
}

/** Counts the groups of `order` that a strategy takes. Shares are shares of the tokens, not of the messages. */
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
  // By division, 55 of 100 is exactly 0.55. By multiplication, 0.55 × 100 would be more than 55.
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
 * Extends a cut until the first message after system is a user message or a summary. This may go below `retain`, but
 * never into protected groups. There the renderer adds a placeholder as first message.
 */
function extendToLegalStart(layout: Layout, cut: ReadonlySet<number>, take: (group: number) => void): void {
  for (let position = 0; position < layout.items.length; position += 1) {
    const group = layout.groupOf[position] as number;
    const role = layout.items[position]?.message.role;
    if (cut.has(group) || role === 'system') continue;
    if (role === 'user' || role === 'summary' || layout.protections[group] !== undefined) return;
    take(group);
  }
}

function sumWeights(layout: Layout, groups: Iterable<number>): Weight {
  let sum = NO_WEIGHT;
  for (const group of groups) sum = addWeights(sum, layout.groupWeights[group] ?? NO_WEIGHT);
  return sum;
}

/** Checks that the removed weight reaches the excess, in tokens and in bytes. */
function covers(gone: Weight, excess: Weight): boolean {
  return gone.tokens >= excess.tokens && gone.bytes >= excess.bytes;
}
