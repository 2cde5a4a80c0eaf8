import { type ContextItem, weighItems } from '../context.ts';
import type { Weight } from '../message.ts';
import type { EvictionStrategy } from '../policy.ts';
import { forEachInSlices, type Sliced } from '../sliced.ts';
import { excessWeight, type PlanRequest } from './budget.ts';
import { clipItem } from './clip.ts';
import { cutContext } from './eviction.ts';
import { findLastModelSeq, type Layout, layOutInSlices } from './layout.ts';
import { isMaskable } from './mask.ts';
import { maskWithNotes } from './mask-notes.ts';
import { type AcceptedSummary, placeSummaries } from './summaries.ts';
import { hasHardReason } from './thresholds.ts';

export const LADDER_STEPS = ['drop', 'mask', 'summarize', 'evict', 'clip', 'relax'] as const;
export type LadderStep = (typeof LADDER_STEPS)[number];

/** A step that was taken, with the weight of the items after it. The weight is less than before the step. */
export interface StepTaken extends Weight {
  readonly step: LadderStep;
}

/** Smallest size in the first clip of floor messages, before groups of the floor are removed. */
const WIDE_CLIP = { tokens: 1_000, chars: 800 };
/** Smallest size in the last clip, after everything removable is gone. */
const NARROW_CLIP = { tokens: 100, chars: 80 };

/**
 * The steps that make a context smaller, from the cheapest loss to the most expensive:
 * 1. drop: remove groups that their author marked as droppable.
 * 2. mask: replace old tool results by a short note.
 * 3. summarize: replace sequences by their summaries.
 * 4. evict: remove groups along the eviction list.
 * 5. clip: shorten the largest messages of the floor, or of what is left.
 * 6. relax: remove groups of the floor.
 *
 * Each step works on the result of the earlier ones. A step that would not make the context smaller is not taken. Steps
 * are generators, so that a worker can run a long pass in slices.
 */
export class Ladder {
  readonly #request: Omit<PlanRequest, 'context'>;
  readonly #steps: StepTaken[] = [];
  readonly #lastModelSeq: number;
  #items: readonly ContextItem[];
  #layout: Layout | undefined;
  #isFloorRelaxed = false;

  constructor({ context, ...request }: PlanRequest) {
    this.#request = request;
    this.#items = context.items;
    this.#lastModelSeq = findLastModelSeq(context.items);
  }

  get items(): readonly ContextItem[] {
    return this.#items;
  }

  /** Lays out the current items. */
  *layOut(): Sliced<Layout> {
    const { policy, firstUserSeq } = this.#request;
    const landmarks = { firstUserSeq, lastModelSeq: this.#lastModelSeq };
    this.#layout ??= yield* layOutInSlices(this.#items, policy, landmarks);
    return this.#layout;
  }

  get steps(): readonly StepTaken[] {
    return this.#steps;
  }

  get weight(): Weight {
    return weighItems(this.#items);
  }

  /** Weight above the budget. Zero if no reason makes the budget a target. */
  get excess(): Weight {
    return excessWeight(this.#request, this.weight);
  }

  get isOver(): boolean {
    const { tokens, bytes } = this.excess;
    return tokens > 0 || bytes > 0;
  }

  get isFloorRelaxed(): boolean {
    return this.#isFloorRelaxed;
  }

  /** Takes the steps without loss for the model: drop and mask. */
  *trim(): Sliced<void> {
    yield* this.#drop();
    yield* this.#mask();
  }

  /**
   * Takes the eviction steps: the extent of the strategy, then more of the list while the budget needs it. Only a hard
   * reason relaxes the floor. Then the largest floor messages are clipped, its oldest groups removed, and the rest
   * clipped again.
   */
  *descend(strategy?: EvictionStrategy): Sliced<void> {
    yield* this.#evict(strategy);
    if (!hasHardReason(this.#request.reasons)) return;
    if (this.isOver) yield* this.#clip(WIDE_CLIP);
    if (this.isOver) yield* this.#relax();
    if (this.isOver) yield* this.#clip(NARROW_CLIP);
  }

  /** Removes groups whose messages are all droppable, regardless of the budget. */
  *#drop(): Sliced<void> {
    const { groups, protections } = yield* this.layOut();
    const dropped = groups.flatMap(({ positions }, index) => {
      const mayGo = protections[index] === undefined;
      return mayGo && positions.every((position) => this.#items[position]?.message.droppable === true) ? [index] : [];
    });
    yield;
    yield* this.#remove('drop', new Set(dropped));
  }

  /** Masks old tool results, if the policy allows it. */
  *#mask(): Sliced<void> {
    if (!this.#request.policy.maskToolResults) return;
    const { groupOf, protections } = yield* this.layOut();
    const chosen: number[] = [];
    yield* forEachInSlices(this.#items, (item, position) => {
      const isOld = protections[groupOf[position] as number] === undefined;
      if (isOld && item.segment === undefined && isMaskable(item)) chosen.push(position);
    });
    const masked = yield* maskWithNotes(this.#items, chosen, this.#request.weigh);
    this.#take(
      'mask',
      this.#items.map((item, position) => masked.get(position) ?? item),
    );
    yield;
  }

  /**
   * Replaces sequences by their summaries.
   * @returns keys of the texts that were used
   */
  *summarize(summaries: readonly AcceptedSummary[], version: number): Sliced<string[]> {
    const { items, used } = placeSummaries(yield* this.layOut(), summaries, version);
    yield;
    this.#take('summarize', items);
    yield;
    return used;
  }

  *#evict(strategy: EvictionStrategy | undefined): Sliced<void> {
    const { excess } = this;
    const layout = yield* this.layOut();
    const { groups } = cutContext(layout, { ...(strategy && { strategy }), excess, mayRelaxFloor: false });
    yield;
    yield* this.#remove('evict', groups);
  }

  /** Clips the largest messages that may not be removed, while the budget needs it. */
  *#clip(least: typeof WIDE_CLIP): Sliced<void> {
    const { weigh } = this.#request;
    const clipped = new Map<ContextItem, ContextItem>();
    let { tokens, bytes } = this.excess;
    for (const item of this.#clippable(yield* this.layOut(), least.tokens)) {
      if (tokens <= 0 && bytes <= 0) break;
      const share = bytes > 0 ? Math.max(0, 1 - bytes / item.bytes) : 1;
      const target = Math.max(least.tokens, Math.min(item.tokens - tokens, Math.floor(item.tokens * share)));
      const made = yield* clipItem(item, target, least.chars, weigh);
      if (made === undefined || made.tokens >= item.tokens || made.bytes >= item.bytes) continue;
      clipped.set(item, made);
      tokens -= item.tokens - made.tokens;
      bytes -= item.bytes - made.bytes;
    }
    if (clipped.size > 0)
      this.#take(
        'clip',
        this.#items.map((item) => clipped.get(item) ?? item),
      );
  }

  /** Removes the oldest groups of the floor, while the budget needs it. */
  *#relax(): Sliced<void> {
    const cut = cutContext(yield* this.layOut(), { excess: this.excess, mayRelaxFloor: true });
    yield;
    if (yield* this.#remove('relax', cut.groups)) this.#isFloorRelaxed = cut.isFloorRelaxed;
  }

  /**
   * Lists messages that may be clipped, largest first. A clipped message may be clipped again. The last user message, open
   * rounds, pins and system messages stay whole.
   */
  #clippable({ groupOf, protections }: Layout, minTokens: number): ContextItem[] {
    const isFixed = new Set(['system', 'pin', 'open_round', 'last_user']);
    return this.#items
      .filter((item, position) => {
        const protection = protections[groupOf[position] as number];
        const isText = item.segment === undefined || item.segment.kind === 'clipped';
        return isText && item.tokens > minTokens && !isFixed.has(protection ?? '');
      })
      .toSorted((a, b) => b.tokens - a.tokens);
  }

  *#remove(step: LadderStep, groups: ReadonlySet<number>): Sliced<boolean> {
    if (groups.size === 0) return false;
    const { groupOf } = yield* this.layOut();
    const left = this.#items.filter((_, position) => !groups.has(groupOf[position] as number));
    yield;
    return this.#take(step, left);
  }

  #take(step: LadderStep, items: readonly ContextItem[]): boolean {
    const [before, after] = [this.weight, weighItems(items)];
    if (items === this.#items || (after.tokens >= before.tokens && items.length >= this.#items.length)) return false;
    this.#items = items;
    this.#layout = undefined;
    this.#steps.push({ step, ...after });
    return true;
  }
}
