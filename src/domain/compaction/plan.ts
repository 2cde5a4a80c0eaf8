import { z } from 'zod';
import type { Context } from '../context.ts';
import { weighItems } from '../context.ts';
import type { Policy } from '../policy.ts';
import type { SeqRange } from '../version.ts';
import { type Cut, cutContext } from './eviction.ts';
import { budgetInfeasibleSchema, explainInfeasible } from './infeasible.ts';
import { isFloor, type Layout, layOut } from './layout.ts';
import { type Budget, excessTokens, requestTokens } from './request-size.ts';
import { findSequences } from './sequences.ts';
import { hasHardReason, hasTokenReason, REASONS } from './thresholds.ts';

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
  kind: z.enum(['none', 'summarize', 'evict', 'infeasible']),
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

export interface PlanRequest extends Budget {
  readonly context: Context;
  readonly policy: Policy;
  /** seq of the log's first user message */
  readonly firstUserSeq?: number;
}

/** Decides what a pass will do, before anything is spent. Pure and deterministic. */
export function planPass(request: PlanRequest): PassPlan {
  const { context, policy, reasons } = request;
  const layout = layOut(context.items, policy, request.firstUserSeq);
  const itemTokens = weighItems(context.items).tokens;
  const plan = {
    reasons: [...reasons],
    version: context.version.number,
    head: context.head,
    tokens: requestTokens(request, itemTokens),
    sequences: [],
    evict: [],
  };
  if (reasons.length === 0 || !policy.enabled) return { ...plan, kind: 'none', explained: [] };
  const isTokenBound = hasTokenReason(reasons);
  const { eligible, waiting } = findSequences(layout, policy, isTokenBound);
  if (eligible.length > 0) {
    const sequences = eligible.map((run) => ({ from: run.from, to: run.to, tokens: run.tokens }));
    return { ...plan, kind: 'summarize', sequences, explained: [] };
  }
  if (waiting.length > 0) return { ...plan, kind: 'none', explained: ['waiting_run'] };
  const excess = excessTokens(request, itemTokens);
  const cut = cutContext(layout, {
    strategy: policy.strategy,
    excessTokens: excess,
    mayRelaxFloor: hasHardReason(reasons),
  });
  const isStillOver = excess > cut.tokens;
  if (cut.groups.size > 0) {
    return {
      ...plan,
      kind: 'evict',
      evict: cutRanges(layout, cut),
      explained: explainSize(request, layout, cut, isStillOver),
    };
  }
  const explained: Explanation[] = ['nothing_removable'];
  if (!isStillOver) return { ...plan, kind: 'none', explained };
  return { ...plan, kind: 'infeasible', explained, infeasible: explainInfeasible(request, layout, cut) };
}

/** Why what a cut leaves may be above `maxTokens`. */
export function explainSize(
  { limits, reasons }: Budget,
  layout: Layout,
  cut: Cut,
  isStillOver: boolean,
): Explanation[] {
  if (isStillOver) {
    const hasFloor = layout.groups.keys().some((group) => isFloor(layout.protections[group]) && !cut.groups.has(group));
    return [hasFloor ? 'retention_floor' : 'nothing_removable'];
  }
  return hasTokenReason(reasons) || limits.maxTokens === undefined ? [] : ['no_token_reason'];
}

/** Seq ranges of what a cut takes, ascending, neighbours joined. */
export function cutRanges({ items, groupOf }: Layout, cut: Cut): SeqRange[] {
  const ranges: { from: number; to: number }[] = [];
  let isOpen = false;
  items.forEach((item, position) => {
    if (!cut.groups.has(groupOf[position] as number)) {
      isOpen = false;
      return;
    }
    const last = ranges.at(-1);
    if (isOpen && last !== undefined) last.to = item.to;
    else ranges.push({ from: item.from, to: item.to });
    isOpen = true;
  });
  return ranges;
}
