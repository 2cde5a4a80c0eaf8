import type { Context, ContextItem } from '../context.ts';
import { weighItems } from '../context.ts';
import type { Message, Weight } from '../message.ts';
import type { CheckpointSegment, Segment, SeqRange } from '../version.ts';
import { cutContext } from './eviction.ts';
import { type BudgetInfeasible, explainInfeasible } from './infeasible.ts';
import { layOut } from './layout.ts';
import { type Explanation, explainSize, type PassPlan, type PlanRequest } from './plan.ts';
import { excessTokens, requestTokens } from './request-size.ts';
import { segmentItems } from './segments.ts';
import { hasHardReason, isSendable } from './thresholds.ts';

/** A summary that may stand for its sequence: its text is stored, this is how it will lie in the context. */
export interface AcceptedSummary {
  readonly range: SeqRange;
  /** key of the text */
  readonly text: string;
  /** of the checkpoint as it is rendered */
  readonly weight: Weight;
  readonly depth: number;
  /** which summarizer wrote it */
  readonly model: string;
}

export interface SettleRequest extends PlanRequest {
  readonly plan: PassPlan;
  readonly summaries: readonly AcceptedSummary[];
}

/** The shape of the next version, over seqs 1…head, and what it changes. */
export interface SettledContext {
  readonly kind: 'version';
  readonly strategy: 'summarize' | 'evict';
  readonly segments: readonly Segment[];
  readonly weight: Weight;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** messages taken out of the context */
  readonly archived: number;
  readonly explained: readonly Explanation[];
  readonly isFloorRelaxed: boolean;
  /** keys of the checkpoint texts that were used */
  readonly texts: readonly string[];
}

export type Settlement =
  | SettledContext
  | { readonly kind: 'none' }
  | { readonly kind: 'no_gain'; readonly tokensBefore: number; readonly tokensAfter: number }
  | { readonly kind: 'infeasible'; readonly details: BudgetInfeasible };

/**
 * Turns a plan and the summaries that came in into the next version's shape. The summaries that are there land; what is
 * still over goes along the eviction list; with a hard reason the floor yields. Pure: no summary is awaited or asked for.
 */
export function settlePass(request: SettleRequest): Settlement {
  const { context, plan, reasons } = request;
  const before = requestTokens(request, weighItems(context.items).tokens);
  const { items, used } = placeSummaries(context, request.summaries);
  const layout = layOut(items, request.policy, request.firstUserSeq);
  const excess = excessTokens(request, weighItems(items).tokens);
  const cut = cutContext(layout, {
    ...(plan.kind === 'evict' ? { strategy: request.policy.strategy } : {}),
    excessTokens: excess,
    mayRelaxFloor: hasHardReason(reasons),
  });
  const kept = items.filter((_, position) => !cut.groups.has(layout.groupOf[position] as number));
  const weight = weighItems(kept);
  const after = requestTokens(request, weight.tokens);
  const isStillOver = excess > cut.tokens;
  const isUnchanged = used.length === 0 && cut.groups.size === 0;
  if (isStillOver && (isUnchanged || (hasHardReason(reasons) && !isWorthIt(request, after)))) {
    return { kind: 'infeasible', details: explainInfeasible(request, layout, cut) };
  }
  if (isUnchanged) return { kind: 'none' };
  if (after >= before || (!hasHardReason(reasons) && before - after < request.policy.minGain * before)) {
    return { kind: 'no_gain', tokensBefore: before, tokensAfter: after };
  }
  return {
    kind: 'version',
    strategy: used.length > 0 ? 'summarize' : 'evict',
    segments: segmentItems(kept, context.head),
    weight,
    tokensBefore: before,
    tokensAfter: after,
    archived: countMessages(context.items) - countMessages(kept),
    explained: [
      ...explainSize(request, layout, cut, isStillOver),
      ...(used.length < plan.sequences.length ? ['summaries_missing' as const] : []),
    ],
    isFloorRelaxed: cut.isFloorRelaxed,
    texts: used,
  };
}

/**
 * Puts each summary in the place of its range, found by seq: indexes would move with the first replacement. One that is not
 * strictly smaller than what it would replace is left out, and the raw sequence stays.
 */
function placeSummaries(
  { items, version }: Context,
  summaries: readonly AcceptedSummary[],
): { items: ContextItem[]; used: string[] } {
  const summaryAt = new Map(summaries.map((summary) => [summary.range.from, summary]));
  const placed: ContextItem[] = [];
  const used: string[] = [];
  for (let position = 0; position < items.length; position += 1) {
    const item = items[position] as ContextItem;
    const summary = summaryAt.get(item.from);
    const replaced = summary === undefined ? [] : itemsUpTo(items, position, summary.range.to);
    if (summary !== undefined && summary.weight.tokens < weighItems(replaced).tokens) {
      placed.push(checkpointOf(summary, version.number + 1));
      used.push(summary.text);
      position += replaced.length - 1;
    } else {
      placed.push(item);
    }
  }
  return { items: placed, used };
}

/** The items from a position to the one that ends at `seq`; none where none ends there. */
function itemsUpTo(items: readonly ContextItem[], position: number, seq: number): readonly ContextItem[] {
  let end = position;
  while ((items[end]?.to ?? seq) < seq) end += 1;
  return items[end]?.to === seq ? items.slice(position, end + 1) : [];
}

/** @param version the number that the settled version will have */
function checkpointOf({ range, text, weight, depth }: AcceptedSummary, version: number): ContextItem {
  const segment: CheckpointSegment = { kind: 'checkpoint', ...range, version, weight, text, depth };
  const message: Message = { role: 'checkpoint', content: '', checkpoint: { ...range, version } };
  return { ...range, ...weight, segment, message };
}

/**
 * A hard pass that misses `maxTokens` is still worth a version where the turn that waits for it can be sent with it. Who
 * asked for the budget itself (`manual`) is told that it cannot be had.
 */
function isWorthIt({ reasons, limits }: SettleRequest, tokensAfter: number): boolean {
  return !reasons.includes('manual') && limits.usable !== undefined && isSendable(limits, tokensAfter);
}

function countMessages(items: Context['items']): number {
  return items.filter((item) => item.segment === undefined).length;
}
