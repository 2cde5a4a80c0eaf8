import { addWeights, NO_WEIGHT, type Weight } from '../message.ts';
import type { EvictionStrategy } from '../policy.ts';
import { isFloor, type Layout } from './layout.ts';

export interface CutRequest {
  /** absent: no more than the budget needs */
  readonly strategy?: EvictionStrategy;
  /** what has to go for the budget; nothing where it is no goal */
  readonly excess: Weight;
  /** the floor may shrink where the rest is not enough */
  readonly mayRelaxFloor: boolean;
}

export interface Cut {
  /** indexes of the groups that go */
  readonly groups: ReadonlySet<number>;
  /** what they weigh */
  readonly weight: Weight;
  readonly isFloorRelaxed: boolean;
}

/**
 * Cuts along one list: groups whose messages are all droppable, then the rest, oldest first; summaries last. First what
 * the strategy takes, then on until the excess is gone, then, where allowed, from the oldest of the floor; at last on to
 * a legal first message.
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

/** The one list: droppable groups, then the rest, each oldest first; summaries last. */
function evictionOrder({ groups, protections, items }: Layout): number[] {
  const droppable: number[] = [];
  const others: number[] = [];
  const summaries: number[] = [];
  groups.forEach(({ kind, positions }, index) => {
    if (protections[index] !== undefined) return;
    if (kind === 'summary') summaries.push(index);
    else if (positions.every((position) => items[position]?.message.droppable === true)) droppable.push(index);
    else others.push(index);
  });
  return [...droppable, ...others, ...summaries];
}

/** The retention window oldest first; the log's first user message, which says what all this is about, goes last. */
function floorOrder({ groups, protections, firstUserGroup }: Layout): number[] {
  const floor = groups
    .keys()
    .filter((index) => isFloor(protections[index]))
    .toArray();
  const isFirst = (index: number): boolean => index === firstUserGroup;
  return [...floor.filter((index) => !isFirst(index)), ...floor.filter(isFirst)];
}

/** How many groups of `order` a strategy takes. Shares are of tokens, not of messages. */
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
  // Divided, 55 of 100 is 0.55 exactly; multiplied, 0.55 × 100 is more than 55.
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
 * The first message after system must be a user message or a summary. A cut that leaves another is extended to the next
 * that is, even below `retain`, never into what is protected: there rendering puts a placeholder first.
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

/** Whether as much as has to go is gone, in tokens and in bytes. */
function covers(gone: Weight, excess: Weight): boolean {
  return gone.tokens >= excess.tokens && gone.bytes >= excess.bytes;
}
