import { z } from 'zod';
import { type ContextItem, weighItems } from '../context.ts';
import type { Sliced } from '../sliced.ts';
import type { SeqRange, Version } from '../version.ts';
import {
  type Budget,
  budgetInfeasibleSchema,
  explainInfeasible,
  mostItemTokens,
  type PlanRequest,
  requestTokens,
} from './budget.ts';
import {
  type BudgetDivision,
  divideBudget,
  divideRest,
  findTailStart,
  isFixed,
  maxSummaryTokens,
  measureMaterial,
  sumGroups,
} from './division.ts';
import { Ladder } from './ladder.ts';
import { findLastModelSeq, isFloor, type Layout } from './layout.ts';
import { describeRange } from './segments.ts';
import { findSequences, type Run } from './sequences.ts';
import { hasHardReason, hasTokenReason, REASONS } from './thresholds.ts';

export type { PlanRequest } from './budget.ts';

/** Codes that explain why a plan or a version differs from the figures of its policy. */
export type Explanation =
  | 'no_token_reason'
  | 'retention_floor'
  | 'waiting_run'
  | 'summaries_missing'
  | 'nothing_removable';

const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/**
 * A plan, in the form that is recorded with its pass. It states the ranges to compact, and the version and head that they
 * refer to. Ranges are inclusive.
 */
export const passPlanSchema = z.object({
  kind: z.enum(['none', 'trim', 'summarize', 'evict', 'infeasible']),
  reasons: z.array(z.enum(REASONS)),
  version: z.number().int().min(0),
  head: z.number().int().min(0),
  /** Mean tokens of the context. */
  tokens: z.number(),
  /** Ranges to summarize, with their tokens, and the tokens that their summaries may have and keep for users' words. */
  sequences: z.array(rangeSchema.extend({ tokens: z.number(), maxTokens: z.number(), userTokens: z.number() })),
  evict: z.array(rangeSchema),
  explained: z.array(z.string()),
  /** Proof that no context fits the budget, for an infeasible plan. */
  infeasible: budgetInfeasibleSchema.optional(),
});

export type PassPlan = z.infer<typeof passPlanSchema>;

/**
 * Decides what a pass will do, before it spends anything. Pure and deterministic. The first matching rule decides:
 * 1. No reason, or compaction is off: `none`.
 * 2. Drops and masks alone reach the budget: `trim`.
 * 3. Some sequences are large enough: `summarize` them. A fold joins them if summaries exceed their share.
 * 4. A run waits until more is new: `trim` or `none`.
 * 5. Enough old summaries can be folded: `summarize` the fold.
 * 6. Groups can be evicted or clipped: `evict`.
 * 7. Nothing can be removed: `infeasible` above the budget, else `none`.
 */
export function* planInSlices(request: PlanRequest): Sliced<PassPlan> {
  const { context, policy, reasons } = request;
  const plan = {
    reasons: [...reasons],
    version: context.version.number,
    head: context.head,
    tokens: requestTokens(request, weighItems(context.items).tokens),
    sequences: [],
    evict: [],
  };
  if (reasons.length === 0 || !policy.enabled) return { ...plan, kind: 'none', explained: [] };
  const ladder = new Ladder(request);
  yield* ladder.trim();
  const isTrimmed = ladder.steps.length > 0;
  const evict = removedRanges(context.items, ladder.items);
  if (isTrimmed && hasTokenReason(reasons) && !ladder.isOver) return { ...plan, kind: 'trim', evict, explained: [] };
  yield;
  const { sequences, isWaiting } = yield* chooseSequences(request, yield* ladder.layOut());
  if (sequences.length > 0) return { ...plan, kind: 'summarize', sequences, evict, explained: [] };
  if (isWaiting) return { ...plan, kind: isTrimmed ? 'trim' : 'none', evict, explained: ['waiting_run'] };
  return { ...plan, ...(yield* planEviction(request, ladder)) };
}

/** Chooses the sequences to summarize. `isWaiting`: there are none, and a run waits until more is new. */
function* chooseSequences(
  request: PlanRequest,
  layout: Layout,
): Sliced<{
  readonly sequences: PassPlan['sequences'];
  readonly isWaiting: boolean;
  readonly division?: BudgetDivision;
}> {
  const { policy, reasons } = request;
  const isTokenBound = hasTokenReason(reasons);
  const most = isTokenBound ? mostItemTokens(request) : undefined;
  if (most === undefined) {
    const { eligible, waiting } = yield* findSequences(layout, policy, {
      isTokenBound,
      tailStart: layout.items.length,
      mayRelaxFloor: false,
    });
    const sequences = eligible.map((run) => ({
      ...rangeOf(run),
      maxTokens: maxSummaryTokens(run.tokens, policy),
      userTokens: 0,
    }));
    return { sequences, isWaiting: eligible.length === 0 && waiting.length > 0 };
  }
  const all = sumGroups(layout, (protection) => isFixed(protection));
  const lastModel = findLastModelSeq(layout.items);
  const read = hasHardReason(reasons)
    ? sumGroups(
        layout,
        (protection, group) =>
          protection === 'last_user' && (layout.items[layout.groups[group]?.positions[0] ?? 0]?.from ?? 0) < lastModel,
      )
    : 0;
  const partly = all - read + Math.min(read, Math.floor((most - all + read) * 0.25));
  const unread = sumGroups(layout, (protection) => protection === 'unread');
  const fixed = partly + Math.min(unread, Math.floor(Math.max(0, most - partly) * 0.6));
  const material = measureMaterial(layout, policy, layout.items.length);
  const whole = divideBudget(most, fixed, material);
  const mayRelaxFloor = hasHardReason(reasons);
  const tailStart = findTailStart(layout, whole.tail, mayRelaxFloor);
  yield;
  const { tail: tailTokens } = measureMaterial(layout, policy, tailStart);
  const tail = mayRelaxFloor ? Math.min(whole.tail, tailTokens) : tailTokens;
  for (const scope of policy.scope === 'prefix' ? (['prefix'] as const) : (['sequences', 'prefix'] as const)) {
    const { eligible } = yield* findSequences(layout, { ...policy, scope }, { isTokenBound, tailStart, mayRelaxFloor });
    if (eligible.length === 0) continue;
    const division = divideRest(layout, policy, { most, fixed, tail, tailStart, eligible, scope });
    if (division === undefined) continue;
    const { sequences, ...parts } = division;
    return { sequences, isWaiting: false, division: parts };
  }
  return { sequences: [], isWaiting: false };
}

/** Plans without summaries: what the ladder can evict or clip. */
function* planEviction(
  request: PlanRequest,
  ladder: Ladder,
): Sliced<Pick<PassPlan, 'kind' | 'evict' | 'explained' | 'infeasible'>> {
  const { context, policy } = request;
  yield* ladder.descend(policy.strategy);
  if (ladder.steps.length > 0) {
    const explained = yield* explainSize(request, ladder);
    return { kind: 'evict', evict: removedRanges(context.items, ladder.items), explained };
  }
  const explained: Explanation[] = ['nothing_removable'];
  if (!ladder.isOver) return { kind: 'none', evict: [], explained };
  return { kind: 'infeasible', evict: [], explained, infeasible: explainInfeasible(request, yield* ladder.layOut()) };
}

function rangeOf({ from, to, tokens }: Run): SeqRange & { readonly tokens: number } {
  return { from, to, tokens };
}

/** Explains a size above `maxTokens` after all steps. */
export function* explainSize({ limits, reasons }: Budget, ladder: Ladder): Sliced<Explanation[]> {
  if (ladder.isOver) {
    const { protections } = yield* ladder.layOut();
    return [protections.some(isFloor) ? 'retention_floor' : 'nothing_removable'];
  }
  return hasTokenReason(reasons) || limits.maxTokens === undefined ? [] : ['no_token_reason'];
}

/** Lists the seq ranges of removed items, ascending, with neighbours joined. */
function removedRanges(before: readonly ContextItem[], after: readonly ContextItem[]): SeqRange[] {
  const left = new Set(after.map(({ from }) => from));
  const ranges: { from: number; to: number }[] = [];
  let isOpen = false;
  for (const { from, to } of before) {
    const isGone = !left.has(from);
    const last = ranges.at(-1);
    if (isGone && isOpen && last !== undefined) last.to = to;
    else if (isGone) ranges.push({ from, to });
    isOpen = isGone;
  }
  return ranges;
}

/**
 * Decides whether a plan still fits after another version became the live one. It fits if the live version shows every
 * planned range as the planned version did. Otherwise the pass plans again. No plan fits after a rollback: the
 * summaries of the plan together may be what the provider refused.
 */
export function canRebase(plan: PassPlan, planned: Version, live: Version): boolean {
  if (planned.number === live.number) return true;
  if (live.cause === 'rollback' || live.base > plan.head) return false;
  return [...plan.sequences, ...plan.evict].every((range) => isUnchanged(range, planned, live));
}

function isUnchanged(range: SeqRange, planned: Version, live: Version): boolean {
  const before = describeRange(planned, range);
  const now = describeRange(live, range);
  return before.length === now.length && before.every((part, index) => part === now[index]);
}
