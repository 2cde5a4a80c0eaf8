import { z } from 'zod';
import type { Context } from '../context.ts';
import { weighItems } from '../context.ts';
import { FRAMING_TOKENS, type Limits } from '../limits.ts';
import type { Policy } from '../policy.ts';
import { type RequestOverhead, upperBoundTokens } from '../size.ts';
import type { SeqRange } from '../version.ts';
import { type Cut, cutContext } from './eviction.ts';
import { type Layout, layOut } from './layout.ts';
import { findSequences } from './sequences.ts';
import { hasHardReason, hasTokenReason, REASONS, type Reason } from './thresholds.ts';

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
});

export type PassPlan = z.infer<typeof passPlanSchema>;

export interface PlanRequest {
  readonly context: Context;
  readonly policy: Policy;
  readonly limits: Limits;
  readonly overhead: RequestOverhead;
  readonly reasons: readonly Reason[];
  /** seq of the log's first user message */
  readonly firstUserSeq?: number;
}

/** Decides what a pass will do, before anything is spent. Pure and deterministic. */
export function planPass(request: PlanRequest): PassPlan {
  const { context, policy, reasons } = request;
  const layout = layOut(context.items, policy, request.firstUserSeq);
  const tokens = requestTokens(request, weighItems(context.items).tokens);
  const plan = {
    reasons: [...reasons],
    version: context.version.number,
    head: context.head,
    tokens,
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
  const cut = cutContext(layout, {
    strategy: policy.strategy,
    excessTokens: excessTokens(request, tokens),
    mayRelaxFloor: hasHardReason(reasons),
  });
  const isStillOver = excessTokens(request, tokens) > cut.tokens;
  if (cut.groups.size === 0) {
    return { ...plan, kind: isStillOver ? 'infeasible' : 'none', explained: ['nothing_removable'] };
  }
  return {
    ...plan,
    kind: 'evict',
    evict: cutRanges(layout, cut),
    explained: explainCut(request.limits, isTokenBound, isStillOver),
  };
}

/** Mean size of a request that holds items of this many tokens. The same sum as `contextSize` without an anchor. */
export function requestTokens({ overhead }: Pick<PlanRequest, 'overhead'>, itemTokens: number): number {
  return Math.round((itemTokens + overhead.tokens + FRAMING_TOKENS) * overhead.calibration);
}

/**
 * Tokens of items that have to go so that the request's upper bound is at most `maxTokens`; 0 where it is already, or
 * where no reason makes it a goal.
 */
export function excessTokens(
  { limits, overhead, reasons }: Pick<PlanRequest, 'limits' | 'overhead' | 'reasons'>,
  tokens: number,
): number {
  if (limits.maxTokens === undefined || !hasTokenReason(reasons)) return 0;
  const excess = upperBoundTokens(tokens, limits.upperBoundFactor) - limits.maxTokens;
  // One more covers the rounding of the mean.
  return excess <= 0
    ? 0
    : Math.ceil(excess / limits.upperBoundFactor / overhead.calibration) + (overhead.calibration === 1 ? 0 : 1);
}

export function explainCut(limits: Limits, isTokenBound: boolean, isStillOver: boolean): Explanation[] {
  if (isStillOver) return ['retention_floor'];
  return isTokenBound || limits.maxTokens === undefined ? [] : ['no_token_reason'];
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
