import type { EvictionStrategy } from '../domain/eviction-strategy.ts';
import type { Interruptible } from '../domain/interruptible.ts';
import type { Weight } from '../domain/message.ts';
import { hasHardReason, hasTokenReason } from '../domain/pass.ts';
import type { ContextItem } from '../domain/version.ts';
import { excessWeight, mostItemTokens, type PlanRequest, weighSent } from './budget.ts';
import { weighItems } from './context.ts';
import { type ContextEvidence, readEvidence } from './context-evidence.ts';
import { cutContext, cutFloor, evictionCandidates } from './eviction.ts';
import { RemovedGroups, showWhole } from './give-back.ts';
import { orderByWorth } from './group-worth.ts';
import {
  findFloor,
  INPUT_SHARE,
  isFlexible,
  isFloorChanged,
  isInputCut,
  type Landmarks,
  type Layout,
  layOutAgain,
  layOutInSlices,
  type Protection,
  requestAboveShare,
} from './layout.ts';
import { maskOldPictures, maskOldResults } from './mask-old.ts';
import { findLandmarks } from './prefix.ts';
import { estimateShortened, isShortenable, type ShortenRequest, shortenLargest } from './shorten.ts';
import { type AcceptedSummary, placeSummaries } from './summaries.ts';

export type LadderStep = 'drop' | 'mask' | 'summarize' | 'clip' | 'evict' | 'relax';

/** Step that was taken, with the weight of the items after the step. */
export interface StepTaken extends Weight {
  readonly step: LadderStep;
}

/** Minimum tokens of a message after the first clip, and after the last clip. */
const WIDE_TOKENS = 64;
const NARROW_TOKENS = 24;
/** Shares of the budget. From `GOOD_FILL` on, a context is full enough. A strategy leaves at least `MIN_FILL`. */
const GOOD_FILL = 0.95;
const MIN_FILL = 0.7;

const isFree = (protection: Protection | undefined): boolean => protection === undefined;
const isRequest = (protection: Protection | undefined): boolean => protection === 'request';
const isInput = (protection: Protection | undefined): boolean => protection === 'input' || isRequest(protection);
const isOther = (protection: Protection | undefined): boolean => isFlexible(protection) && !isRequest(protection);

/**
 * Makes a context smaller, from the cheapest loss to the most expensive:
 * 1. `drop`: removes groups that their author marked as droppable, and system messages that a newer one repeats.
 * 2. `mask`: replaces superseded results by notes. Also masks all old results if the policy says so, and pictures after
 * an overflow.
 * 3. `summarize`: replaces sequences by their summaries.
 * 4. `clip`: shortens the largest messages to the fragments that matter.
 * 5. `evict`: removes the groups that the agent will least likely need.
 * 6. `relax`: clips the floor, then cuts the floor. At last, the inputs of the running turn are clipped.
 *
 * A plan and its settlement take the same steps, so that they cannot disagree. Each step reads the layout of the items
 * that the step before it left, and replaces them. `#take` refuses a step that makes nothing smaller.
 *
 * A group or a clip seldom ends exactly at the budget. So `#refill` comes last, and returns what fits again: inputs of
 * the running turn, then removed groups, then shortened messages. A caller calls `trim`, `summarize` and `descend`, in
 * this order.
 */
export class Ladder {
  readonly #request: PlanRequest;
  readonly #steps: StepTaken[] = [];
  readonly #landmarks: Landmarks;
  #items: readonly ContextItem[];
  #weight: Weight;
  readonly #whole = new Map<ContextItem, ContextItem>();
  readonly #removed = new RemovedGroups();
  #layout: Layout | undefined;
  /** Items of the floor and inputs of the turn when the pass began. The value is true for the first user message. */
  #floor: ReadonlyMap<ContextItem, boolean> | undefined;
  #evidence: ContextEvidence | undefined;

  constructor(request: PlanRequest) {
    this.#request = request;
    this.#items = request.context.items;
    this.#weight = weighItems(this.#items);
    this.#landmarks = findLandmarks(request);
  }

  get items(): readonly ContextItem[] {
    return this.#items;
  }

  *layOut(): Interruptible<Layout> {
    const { policy } = this.#request;
    if (this.#layout?.items === this.#items) return this.#layout;
    const layout = yield* this.#layout === undefined
      ? layOutInSlices(this.#items, policy, this.#landmarks)
      : layOutAgain(this.#layout, this.#items, policy, this.#landmarks);
    this.#layout = layout;
    this.#floor ??= findFloor(layout);
    return layout;
  }

  get steps(): readonly StepTaken[] {
    return this.#steps;
  }
  get weight(): Weight {
    return this.#weight;
  }

  get excess(): Weight {
    return this.#excessOf(this.#items, this.#weight);
  }
  #excessOf(items: readonly ContextItem[], weight: Weight): Weight {
    return excessWeight(this.#request, weighSent(items, weight));
  }

  get isOver(): boolean {
    const { tokens, bytes } = this.excess;
    return tokens > 0 || bytes > 0;
  }

  get isFloorRelaxed(): boolean {
    return isFloorChanged(this.#floor ?? new Map(), this.#items);
  }

  *trim(): Interruptible<void> {
    yield* this.#drop();
    yield* this.#mask();
  }

  /** Only a hard reason shortens or removes the floor. A strategy evicts its whole extent, even below the budget. */
  *descend(strategy?: EvictionStrategy): Interruptible<void> {
    if (this.isOver) yield* this.#clip(WIDE_TOKENS, isFree);
    if (this.isOver || strategy !== undefined) yield* this.#evict(strategy);
    // The placeholder before a protected message at the start may make the context exceed the budget again.
    if (this.isOver) yield* this.#evict(undefined);
    if (hasHardReason(this.#request.reasons)) yield* this.#cutFloor();
    if (strategy !== undefined && this.#spareTokens >= 0) return;
    yield* this.#refill();
  }

  *#cutFloor(): Interruptible<void> {
    if (this.isOver) yield* this.#clipRequest();
    if (this.isOver) yield* this.#clip(WIDE_TOKENS, isOther);
    if (this.isOver) yield* this.#relax();
    if (this.isOver) yield* this.#relax();
    const share = INPUT_SHARE * (mostItemTokens(this.#request) ?? 0);
    if (this.isOver) yield* this.#clip(Math.floor(share / Math.max(1, this.#landmarks.inputs.size)), isInput);
    if (this.isOver) yield* this.#clip(NARROW_TOKENS, isOther);
    if (this.isOver) yield* this.#clip(NARROW_TOKENS, isInput);
    const isIdle = this.#request.reasons.includes('manual') && this.#landmarks.inputs.size === 0;
    if (this.isOver && isIdle) yield* this.#relax(true);
  }

  /** Shortens a request to its share of the room. A request within its share stays whole as long as an input does. */
  *#clipRequest(): Interruptible<void> {
    const aboveShare = requestAboveShare(yield* this.layOut(), mostItemTokens(this.#request) ?? 0);
    const tokens = Math.min(this.excess.tokens, aboveShare);
    if (tokens > 0) yield* this.#clip(NARROW_TOKENS, isRequest, { tokens, bytes: 0 });
  }

  *#refill(): Interruptible<void> {
    if (this.isOver) return;
    // No older message returns before the inputs of the running turn are whole.
    const { inputs, requestFrom = Infinity } = this.#landmarks;
    const isAsked = ({ from, message }: ContextItem): boolean => from >= requestFrom && message.role === 'user';
    yield* this.#lengthen((item) => inputs.has(item.from) || isAsked(item));
    if (isInputCut(this.#request.context, this.#items)) return;
    this.#replaceLast(yield* this.#removed.putBack(this.#items, this.#request));
    yield;
    yield* this.#lengthen(() => true);
  }

  *#lengthen(mayGrow: (item: ContextItem) => boolean): Interruptible<void> {
    yield* this.#grow(mayGrow);
    const whole = new Map(this.#whole.entries().filter(([item]) => mayGrow(item)));
    this.#replaceLast(showWhole(this.#items, whole, this.#request));
  }

  *#grow(mayGrow: (item: ContextItem) => boolean): Interruptible<void> {
    const most = mostItemTokens(this.#request);
    const last = this.#steps.at(-1);
    if (most === undefined || last === undefined || this.isOver || this.weight.tokens >= GOOD_FILL * most) return;
    const items = this.#items.map((item) => (mayGrow(item) && this.#whole.get(item)) || item);
    const candidates = items.filter((item, position) => item !== this.#items[position]);
    if (candidates.length === 0) return;
    const excess = this.#excessOf(items, weighItems(items));
    const shortened = yield* this.#shorten({ items, candidates, excess, minTokens: NARROW_TOKENS });
    const refilled = items.map((item) => shortened.get(item) ?? item);
    const weight = weighItems(refilled);
    const left = this.#excessOf(refilled, weight);
    const isBetter = weight.tokens > this.weight.tokens && left.tokens === 0 && left.bytes === 0;
    if (isBetter) this.#replaceLast(refilled);
  }

  #replaceLast(items: readonly ContextItem[]): void {
    const last = this.#steps.at(-1);
    if (last === undefined || items === this.#items) return;
    const weight = weighItems(items);
    this.#items = items;
    this.#weight = weight;
    this.#layout = undefined;
    // Earlier steps whose result is not larger than the present context are merged into the last step.
    const earlier = this.#steps.slice(0, -1).filter(({ tokens }) => tokens > weight.tokens);
    this.#steps.splice(0, Infinity, ...earlier, { ...last, ...weight });
  }

  *#drop(): Interruptible<void> {
    const { droppable, protections } = yield* this.layOut();
    const dropped = [...droppable].filter((group) => protections[group] === undefined);
    yield;
    yield* this.#remove('drop', new Set(dropped));
  }

  *#mask(): Interruptible<void> {
    const { reasons, weigh } = this.#request;
    if (reasons.includes('overflow')) this.#take('mask', yield* maskOldPictures(yield* this.layOut(), weigh));
    this.#take('mask', yield* maskOldResults(yield* this.layOut(), this.#request));
    yield;
  }

  /** @returns keys of the summary texts that were used */
  *summarize(summaries: readonly AcceptedSummary[], version: number): Interruptible<string[]> {
    const mayRelaxFloor = hasHardReason(this.#request.reasons);
    const { items, used } = placeSummaries(yield* this.layOut(), summaries, { version, mayRelaxFloor });
    yield;
    this.#take('summarize', items);
    yield;
    return used;
  }

  *#evict(strategy: EvictionStrategy | undefined): Interruptible<void> {
    const layout = yield* this.layOut();
    const { droppable, others } = evictionCandidates(layout);
    if (droppable.length + others.length === 0) return;
    const order = [...droppable, ...(yield* orderByWorth(layout, others, yield* this.#readEvidence()))];
    const extent = strategy && { strategy };
    const { groups } = cutContext(layout, { order, ...extent, excess: this.excess, spareTokens: this.#spareTokens });
    yield;
    yield* this.#remove('evict', groups);
  }

  /** Tokens that may be removed before too little of the budget is filled. */
  get #spareTokens(): number {
    const most = mostItemTokens(this.#request);
    if (most === undefined || !hasTokenReason(this.#request.reasons)) return Number.POSITIVE_INFINITY;
    return this.weight.tokens - MIN_FILL * most;
  }

  *#clip(
    minTokens: number,
    mayClip: (protection: Protection | undefined) => boolean,
    excess = this.excess,
  ): Interruptible<void> {
    const { groupOf, protections } = yield* this.layOut();
    const candidates = this.#items.filter(
      (item, position) => isShortenable(item) && mayClip(protections[groupOf[position] as number]),
    );
    if (candidates.length === 0) return;
    const shortened = yield* this.#shorten({ items: this.#items, candidates, excess, minTokens });
    if (shortened.size === 0) return;
    for (const [item, made] of shortened) this.#whole.set(made, this.#whole.get(item) ?? item);
    const items = this.#items.map((item) => shortened.get(item) ?? item);
    this.#take('clip', items);
  }

  *#shorten(request: Omit<ShortenRequest, 'evidence' | 'weigh'>): Interruptible<ReadonlyMap<ContextItem, ContextItem>> {
    if (this.#request.isEstimate === true) return estimateShortened(request);
    return yield* shortenLargest({ ...request, evidence: yield* this.#readEvidence(), weigh: this.#request.weigh });
  }

  *#relax(isLastResort = false): Interruptible<void> {
    const layout = yield* this.layOut();
    const { groups } = cutFloor(layout, this.excess, isLastResort);
    yield;
    yield* this.#remove('relax', groups);
  }

  *#readEvidence(): Interruptible<ContextEvidence> {
    this.#evidence ??= yield* (this.#request.evidence ?? readEvidence)(this.#request.context.items);
    return this.#evidence;
  }

  *#remove(step: LadderStep, groups: ReadonlySet<number>): Interruptible<void> {
    if (groups.size === 0) return;
    const layout = yield* this.layOut();
    const left = this.#items.filter((_, position) => !groups.has(layout.groupOf[position] as number));
    yield;
    if (!this.#take(step, left)) return;
    if (step !== 'drop') yield* this.#removed.add(layout, groups, this.#floor ?? new Map());
  }

  #take(step: LadderStep, items: readonly ContextItem[]): boolean {
    if (items === this.#items) return false;
    const after = weighItems(items);
    if (after.tokens >= this.#weight.tokens && items.length >= this.#items.length) return false;
    this.#items = items;
    this.#weight = after;
    this.#steps.push({ step, ...after });
    return true;
  }
}
