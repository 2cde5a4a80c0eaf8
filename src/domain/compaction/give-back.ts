import type { ContextItem } from '../context.ts';
import { addWeights, NO_WEIGHT, subtractWeights, type Weight } from '../message.ts';
import { excessWeight, opensWithUser, PLACEHOLDER, type PlanRequest, weighSent } from './budget.ts';
import type { FloorItem, Layout } from './layout.ts';

interface RemovedGroup {
  readonly items: readonly ContextItem[];
  readonly weight: Weight;
  readonly isFloor: boolean;
}

function fits(request: PlanRequest, weight: Weight): boolean {
  const { tokens, bytes } = excessWeight(request, weight);
  return tokens === 0 && bytes === 0;
}

function placeholderChange(opened: boolean, opens: boolean): Weight {
  if (opened === opens) return NO_WEIGHT;
  return opens ? subtractWeights(NO_WEIGHT, PLACEHOLDER) : PLACEHOLDER;
}

/** Groups that a pass removed, in the order of their removal. */
export class RemovedGroups {
  readonly #removed: RemovedGroup[] = [];

  /**
   * @param removed indexes of groups in the order of their removal
   * @param floor messages that were in the floor when the pass began. As messages go, the window reaches older ones
   */
  add({ items, groups, groupWeights }: Layout, removed: Iterable<number>, floor: readonly FloorItem[]): void {
    const floorSeqs = new Set(floor.map(({ item }) => item.from));
    for (const index of removed) {
      const own = (groups[index]?.positions ?? []).map((position) => items[position] as ContextItem);
      const isFloor = own.some(({ from }) => floorSeqs.has(from));
      // The author of droppable messages wants them to go, but the floor keeps its order.
      if (!isFloor && own.every(({ message }) => message.droppable === true)) continue;
      this.#removed.push({ items: own, weight: groupWeights[index] as Weight, isFloor });
    }
  }

  /**
   * Adds the groups that fit again, the last removed one first. A later step may have removed more than the budget needed.
   * Groups of the floor return without a gap, because the oldest leave first. Before the first message, only a user message
   * or a summary returns, unless the pass began with another role there.
   */
  putBack(items: readonly ContextItem[], request: PlanRequest): readonly ContextItem[] {
    const mayOpen = !opensWithUser(request.context.items);
    const returned = new Set<RemovedGroup>();
    let weight = weighSent(items);
    let opening = {
      from: items.find(({ message }) => message.role !== 'system')?.from ?? Infinity,
      isUser: opensWithUser(items),
    };
    // A group before the first message may follow once a user message has returned before it.
    for (const round of [1, 2]) {
      let isFloorWhole = true;
      for (const group of this.#removed.toReversed()) {
        if (returned.has(group)) continue;
        const [{ from }] = group.items as [ContextItem];
        const next = from > opening.from ? opening : { from, isUser: opensWithUser(group.items) };
        const sum = addWeights(weight, addWeights(group.weight, placeholderChange(opening.isUser, next.isUser)));
        const mayStand = next === opening || next.isUser || mayOpen;
        if (mayStand && (isFloorWhole || !group.isFloor) && fits(request, sum)) {
          returned.add(group);
          weight = sum;
          opening = next;
        } else if (group.isFloor) isFloorWhole = false;
      }
      if (round === 1 && returned.size === 0) return items;
    }
    return [...items, ...[...returned].flatMap((group) => group.items)].toSorted((a, b) => a.from - b.from);
  }
}

/**
 * Shows shortened messages whole again that fit, the smallest first.
 * @param whole items as they were, by the shortened item
 */
export function showWhole(
  items: readonly ContextItem[],
  whole: ReadonlyMap<ContextItem, ContextItem>,
  request: PlanRequest,
): readonly ContextItem[] {
  const shown = new Map<ContextItem, ContextItem>();
  let weight = weighSent(items);
  const shortened = items.filter((item) => whole.has(item));
  const tokensOf = (item: ContextItem): number => whole.get(item)?.tokens ?? 0;
  for (const item of shortened.toSorted((a, b) => tokensOf(a) - tokensOf(b))) {
    const was = whole.get(item) as ContextItem;
    const sum = addWeights(weight, subtractWeights(was, item));
    if (!fits(request, sum)) continue;
    shown.set(item, was);
    weight = sum;
  }
  return shown.size === 0 ? items : items.map((item) => shown.get(item) ?? item);
}
