import { forEachInSlices, type Interruptible } from '../domain/interruptible.ts';
import { addWeights, NO_WEIGHT, subtractWeights, type Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import { excessWeight, opensWithUser, PLACEHOLDER, type PlanRequest, weighSent } from './budget.ts';
import type { Layout } from './layout.ts';

interface RemovedGroup {
  readonly items: readonly ContextItem[];
  readonly weight: Weight;
  readonly isFloor: boolean;
}

function fits(request: PlanRequest, weight: Weight): boolean {
  const { tokens, bytes } = excessWeight(request, weight);
  return tokens === 0 && bytes === 0;
}

export class RemovedGroups {
  readonly #removed: RemovedGroup[] = [];

  /** @param floor messages of the floor when the pass began. After removals, the last messages reach further back */
  *add(
    { items, groups, groupWeights, droppable }: Layout,
    removed: Iterable<number>,
    floor: ReadonlyMap<ContextItem, unknown>,
  ): Interruptible<void> {
    const floorSeqs = new Set(floor.keys().map(({ from }) => from));
    yield* forEachInSlices([...removed], (index) => {
      const own = (groups[index]?.positions ?? []).map((position) => items[position] as ContextItem);
      const isFloor = own.some(({ from }) => floorSeqs.has(from));
      // Droppable messages do not return. In the floor they do, so that the floor has no gap.
      if (!isFloor && droppable.has(index)) return;
      this.#removed.push({ items: own, weight: groupWeights[index] as Weight, isFloor });
    });
  }

  /**
   * The last removed group returns first, and the floor returns without a gap. Before the first message, only a user
   * message or a summary returns, unless the pass began with another role there.
   */
  *putBack(items: readonly ContextItem[], request: PlanRequest): Interruptible<readonly ContextItem[]> {
    const back = new Returning(items, request);
    yield* back.take(this.#removed.toReversed());
    if (back.groups.size === 0) return items;
    // Now that a user message has returned, a group between it and the former first message may return, too.
    yield* back.take(this.#removed.toReversed());
    return [...items, ...[...back.groups].flatMap((group) => group.items)].toSorted((a, b) => a.from - b.from);
  }
}

interface Opening {
  readonly from: number;
  /** False if rendering puts a placeholder before the message. */
  readonly isUser: boolean;
}

function openingOf(items: readonly ContextItem[]): Opening {
  const first = items.find(({ message }) => message.role !== 'system');
  return { from: first?.from ?? Infinity, isUser: opensWithUser(items) };
}

class Returning {
  readonly groups = new Set<RemovedGroup>();
  readonly #request: PlanRequest;
  #weight: Weight;
  #opening: Opening;

  constructor(items: readonly ContextItem[], request: PlanRequest) {
    this.#request = request;
    this.#weight = weighSent(items);
    this.#opening = openingOf(items);
  }

  *take(removed: readonly RemovedGroup[]): Interruptible<void> {
    let isFloorWhole = true;
    yield* forEachInSlices(removed, (group) => {
      if (this.groups.has(group) || (group.isFloor && !isFloorWhole)) return;
      if (!this.#takeOne(group) && group.isFloor) isFloorWhole = false;
    });
  }

  #takeOne(group: RemovedGroup): boolean {
    const own = openingOf(group.items);
    const opening = own.from < this.#opening.from ? own : this.#opening;
    if (opening === own && !own.isUser && opensWithUser(this.#request.context.items)) return false;
    const sum = addWeights(this.#weight, addWeights(group.weight, placeholderChange(this.#opening, opening)));
    if (!fits(this.#request, sum)) return false;
    this.groups.add(group);
    this.#weight = sum;
    this.#opening = opening;
    return true;
  }
}

function placeholderChange(before: Opening, after: Opening): Weight {
  if (before.isUser === after.isUser) return NO_WEIGHT;
  return after.isUser ? subtractWeights(NO_WEIGHT, PLACEHOLDER) : PLACEHOLDER;
}

/**
 * Shows shortened items as a whole again while they fit, the smallest first. @param whole original items, by the
 * shortened item
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
