import { z } from 'zod';
import { type ContextItem, weighItems } from '../context.ts';
import { runToEnd, type Sliced } from '../sliced.ts';
import type { SeqRange } from '../version.ts';
import { excessSummaryTokens, findFold } from './fold.ts';
import { budgetInfeasibleSchema, explainInfeasible } from './infeasible.ts';
import { Ladder } from './ladder.ts';
import { isFloor } from './layout.ts';
import type { PlanRequest } from './plan-request.ts';
import { type Budget, requestTokens } from './request-size.ts';
import { findSequences, type Run } from './sequences.ts';
import { hasTokenReason, REASONS } from './thresholds.ts';

export type { PlanRequest } from './plan-request.ts';

/** Why a plan or a version is not what the policy's figures alone would say. */
export type Explanation =
  | 'no_token_reason'
  | 'retention_floor'
  | 'waiting_run'
  | 'summaries_missing'
  | 'nothing_removable';

const rangeSchema = z.object({ from: z.number().int().min(1), to: z.number().int().min(1) });

/** A plan as it is recorded with its pass: what to compact, over which version and head. Ranges are seqs, inclusive. */
export const passPlanSchema = z.object({
  kind: z.enum(['none', 'trim', 'summarize', 'evict', 'infeasible']),
  reasons: z.array(z.enum(REASONS)),
  version: z.number().int().min(0),
  head: z.number().int().min(0),
  /** mean size of the context, in tokens */
  tokens: z.number(),
  sequences: z.array(rangeSchema.extend({ tokens: z.number() })),
  evict: z.array(rangeSchema),
  explained: z.array(z.string()),
  /** of an infeasible plan: the arithmetic */
  infeasible: budgetInfeasibleSchema.optional(),
});

export type PassPlan = z.infer<typeof passPlanSchema>;

/** Decides what a pass will do, before anything is spent. Pure and deterministic. */
export function planPass(request: PlanRequest): PassPlan {
  return runToEnd(planInSlices(request));
}

/** The same, in slices. */
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
  const isTokenBound = hasTokenReason(reasons);
  const ladder = new Ladder(request);
  yield* ladder.trim();
  const isTrimmed = ladder.steps.length > 0;
  const evict = removedRanges(context.items, ladder.items);
  if (isTrimmed && isTokenBound && !ladder.isOver) return { ...plan, kind: 'trim', evict, explained: [] };
  yield;
  const layout = yield* ladder.layOut();
  const { eligible, waiting } = yield* findSequences(layout, policy, isTokenBound);
  const summarize = (runs: readonly Run[]): PassPlan => {
    const sequences = runs.map((run) => ({ from: run.from, to: run.to, tokens: run.tokens }));
    return { ...plan, kind: 'summarize', sequences, evict, explained: [] };
  };
  const excess = excessSummaryTokens(layout, eligible, request.limits);
  const fold = findFold(layout, excess);
  yield;
  if (eligible.length > 0) {
    // One summary over all that is old holds its pairs anyway.
    const isBeside = fold !== undefined && excess > 0 && !eligible.some((run) => overlap(run, fold));
    return summarize(isBeside ? [fold, ...eligible] : eligible);
  }
  if (waiting.length > 0) return { ...plan, kind: isTrimmed ? 'trim' : 'none', evict, explained: ['waiting_run'] };
  if (fold !== undefined) return summarize([fold]);
  yield* ladder.descend(policy.strategy);
  if (ladder.steps.length > 0) {
    const explained = yield* explainSize(request, ladder);
    return { ...plan, kind: 'evict', evict: removedRanges(context.items, ladder.items), explained };
  }
  const explained: Explanation[] = ['nothing_removable'];
  if (!ladder.isOver) return { ...plan, kind: 'none', explained };
  return { ...plan, kind: 'infeasible', explained, infeasible: explainInfeasible(request, yield* ladder.layOut()) };
}

function overlap(one: SeqRange, other: SeqRange): boolean {
  return one.from <= other.to && other.from <= one.to;
}

/** Why what a ladder leaves may be above `maxTokens`. */
export function* explainSize({ limits, reasons }: Budget, ladder: Ladder): Sliced<Explanation[]> {
  if (ladder.isOver) {
    const { protections } = yield* ladder.layOut();
    return [protections.some(isFloor) ? 'retention_floor' : 'nothing_removable'];
  }
  return hasTokenReason(reasons) || limits.maxTokens === undefined ? [] : ['no_token_reason'];
}

/** Seq ranges of the items that are gone, ascending, neighbours joined. */
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
