import type { Interruptible } from '../domain/interruptible.ts';
import { hasHardReason, hasTokenReason } from '../domain/pass.ts';
import type { PassPlan } from '../domain/pass-plan.ts';
import type { ContextItem, SeqRange } from '../domain/version.ts';
import {
  type Budget,
  explainInfeasible,
  type PlanRequest,
  requestTokens,
  requestTokensOf,
  weighSent,
} from './budget.ts';
import { chooseSequences } from './choose-sequences.ts';
import { keepsSummaries } from './gain.ts';
import { Ladder } from './ladder.ts';
import { isFloor, type Layout } from './layout.ts';

export type { PlanRequest } from './budget.ts';

export type Explanation =
  | 'no_token_reason'
  | 'retention_floor'
  | 'waiting_run'
  | 'summaries_missing'
  | 'no_gain'
  | 'nothing_removable'
  | 'within_budget';

/**
 * Decides what a pass will do before the pass spends money and time on summaries. The function is pure and
 * deterministic, so that a repeated delivery decides the same. A plan records ranges, never texts.
 *
 * The first matching rule decides:
 * 1. No reason, or compaction is off: `none`.
 * 2. Drops and masks alone reach the budget: `trim`.
 * 3. Some sequences are large enough: `summarize` them. If a soft pass would save less than `minGain`: `trim` or
 * `none`. If a hard pass would miss its budget with the summaries: `evict`.
 * 4. An existing summary is not rewritten until enough new messages follow it: `trim` or `none`.
 * 5. Groups can be evicted or clipped: `evict`.
 * 6. Nothing can be removed: `infeasible` above the budget, else `none`.
 *
 * `Ladder` takes the steps on a copy of the context. `chooseSequences` divides the budget. `keepsSummaries` tries the
 * settlement with summaries of their largest size.
 */
export function* planInSlices(request: PlanRequest): Interruptible<PassPlan> {
  return yield* choosePlan(request, new Ladder(request));
}

interface SizedPlan {
  readonly plan: PassPlan;
  /** Tokens after the plan, if every summary reaches its maximum size. */
  readonly tokensAfter: number;
  readonly layout: Layout;
}

export function* planWithSize(request: PlanRequest): Interruptible<SizedPlan> {
  const ladder = new Ladder(request);
  const layout = yield* ladder.layOut();
  const plan = yield* choosePlan(request, ladder);
  const saved = plan.sequences.reduce((sum, { tokens, maxTokens }) => sum + tokens - maxTokens, 0);
  const { tokens } = weighSent(ladder.items, ladder.weight);
  return { plan, tokensAfter: requestTokens(request, tokens - saved), layout };
}

function* choosePlan(request: PlanRequest, ladder: Ladder): Interruptible<PassPlan> {
  const { context, policy, reasons } = request;
  const plan = {
    reasons: [...reasons],
    version: context.version.number,
    head: context.head,
    tokens: requestTokensOf(request, context.items),
    sequences: [],
    evict: [],
  };
  if (reasons.length === 0 || !policy.enabled) return { ...plan, kind: 'none', explained: [] };
  yield* ladder.trim();
  const isTrimmed = ladder.steps.length > 0;
  const changes = listChanges(context.items, ladder.items);
  if (isTrimmed && hasTokenReason(reasons) && !ladder.isOver)
    return { ...plan, ...changes, kind: 'trim', explained: [] };
  yield;
  const { sequences, isWaiting, division } = yield* chooseSequences(request, yield* ladder.layOut());
  const divided = division === undefined ? {} : { division };
  const unsummarized = { ...plan, ...changes, kind: isTrimmed ? 'trim' : 'none' } as const;
  if (isWaiting) return { ...unsummarized, explained: ['waiting_run'] };
  if (yield* keepsSummaries(request, ladder, sequences)) {
    return { ...plan, ...divided, ...changes, kind: 'summarize', sequences: [...sequences], explained: [] };
  }
  if (sequences.length === 0 || hasHardReason(reasons)) {
    return { ...plan, ...divided, ...(yield* planEviction(request, ladder)) };
  }
  return { ...unsummarized, ...divided, explained: ['no_gain'] };
}

function* planEviction(
  request: PlanRequest,
  ladder: Ladder,
): Interruptible<Pick<PassPlan, 'kind' | 'evict' | 'shorten' | 'explained' | 'infeasible'>> {
  const { context, policy } = request;
  yield* ladder.descend(policy.strategy);
  if (ladder.steps.length > 0) {
    const explained = yield* explainSize(request, ladder);
    return { kind: 'evict', ...listChanges(context.items, ladder.items), explained };
  }
  const explained: Explanation[] = ['nothing_removable'];
  if (!ladder.isOver) {
    const isWithinBudget = hasTokenReason(request.reasons) && request.limits.maxTokens !== undefined;
    return { kind: 'none', evict: [], explained: isWithinBudget ? ['within_budget'] : explained };
  }
  return { kind: 'infeasible', evict: [], explained, infeasible: explainInfeasible(request, yield* ladder.layOut()) };
}

/** Explains why a context is larger than `maxTokens` after all steps. */
export function* explainSize({ limits, reasons }: Budget, ladder: Ladder): Interruptible<Explanation[]> {
  if (ladder.isOver) {
    const { protections } = yield* ladder.layOut();
    return [protections.some(isFloor) ? 'retention_floor' : 'nothing_removable'];
  }
  return hasTokenReason(reasons) || limits.maxTokens === undefined ? [] : ['no_token_reason'];
}

interface PlannedChanges {
  readonly evict: SeqRange[];
  readonly shorten?: SeqRange[];
}

/** Lists ranges of removed items, and ranges of masked or clipped items, ascending. Adjacent ranges are joined. */
function listChanges(before: readonly ContextItem[], after: readonly ContextItem[]): PlannedChanges {
  let at = 0;
  const left = before.map(({ from }) => {
    while ((after[at]?.from ?? from) < from) at += 1;
    return after[at]?.from === from ? after[at] : undefined;
  });
  const evict = rangesWhere(before, (_, position) => left[position] === undefined);
  const shorten = rangesWhere(before, (item, position) => left[position] !== undefined && left[position] !== item);
  return shorten.length === 0 ? { evict } : { evict, shorten };
}

function rangesWhere(
  items: readonly ContextItem[],
  isListed: (item: ContextItem, position: number) => boolean,
): SeqRange[] {
  const ranges: { from: number; to: number }[] = [];
  let isOpen = false;
  for (const [position, item] of items.entries()) {
    const isMember = isListed(item, position);
    const last = ranges.at(-1);
    if (isMember && isOpen && last !== undefined) last.to = item.to;
    else if (isMember) ranges.push({ from: item.from, to: item.to });
    isOpen = isMember;
  }
  return ranges;
}
