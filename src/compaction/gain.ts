import type { Interruptible } from '../domain/interruptible.ts';
import { addWeights } from '../domain/message.ts';
import { hasHardReason } from '../domain/pass.ts';
import type { Policy } from '../domain/policy.ts';
import {
  excessWeight,
  PLACEHOLDER,
  type PlanRequest,
  requestTokens,
  requestTokensOf,
  TOKEN_BYTES,
  weighSent,
} from './budget.ts';
import { weighItems } from './context.ts';
import { Ladder } from './ladder.ts';
import { isFixed, isInputCut, isRequestGone, type Layout } from './layout.ts';
import type { AcceptedSummary } from './summaries.ts';
import type { CappedSequence } from './summary-caps.ts';

/** True if a pass saves enough. A soft pass must save at least `minGain`, because providers cache the old context. */
export function isGain({ minGain }: Pick<Policy, 'minGain'>, before: number, after: number, isHard: boolean): boolean {
  return after < before && (isHard || before - after >= minGain * before);
}

/** True if the settlement would use the summaries even at their maximum size. Unused ones are wasted money (I17). */
export function* keepsSummaries(
  request: PlanRequest,
  ladder: Ladder,
  sequences: readonly CappedSequence[],
): Interruptible<boolean> {
  if (sequences.length === 0) return false;
  return hasHardReason(request.reasons)
    ? yield* fitsWithSummaries(request, yield* ladder.layOut(), sequences)
    : yield* savesEnough(request, ladder, sequences);
}

function* savesEnough(
  request: PlanRequest,
  ladder: Ladder,
  sequences: readonly CappedSequence[],
): Interruptible<boolean> {
  const { policy, context } = request;
  const before = requestTokensOf(request, context.items);
  const isEnough = (itemTokens: number): boolean => isGain(policy, before, requestTokens(request, itemTokens), false);
  const saved = sequences.reduce((sum, { tokens, maxTokens }) => sum + tokens - maxTokens, 0);
  if (isEnough(weighSent(ladder.items).tokens - saved)) return true;
  // A settlement above the budget may still clip and evict.
  if (!ladder.isOver) return false;
  return isEnough(weighSent((yield* settleLargest(request, sequences)).items).tokens);
}

/**
 * The budget's division assumes that unread messages shrink. Pictures and calls cannot, so a trial settlement decides.
 */
function* fitsWithSummaries(
  request: PlanRequest,
  { groupWeights, protections }: Layout,
  sequences: readonly CappedSequence[],
): Interruptible<boolean> {
  const summaries = sequences.map((sequence) => largestSummary(sequence).weight);
  const fixed = groupWeights.filter((_, group) => isFixed(protections[group]));
  const { tokens, bytes } = excessWeight(request, addWeights(weighItems([...fixed, ...summaries]), PLACEHOLDER));
  if (tokens === 0 && bytes === 0) return true;
  const largest = yield* settleLargest(request, sequences);
  const { context } = request;
  return !largest.isOver && !isInputCut(context, largest.items) && !isRequestGone(context, largest.items);
}

function* settleLargest(request: PlanRequest, sequences: readonly CappedSequence[]): Interruptible<Ladder> {
  const ladder = new Ladder(request);
  yield* ladder.trim();
  yield* ladder.summarize(sequences.map(largestSummary), request.context.version.number + 1);
  yield* ladder.descend();
  return ladder;
}

function largestSummary({ from, to, maxTokens }: CappedSequence): AcceptedSummary {
  const weight = { tokens: maxTokens, bytes: maxTokens * TOKEN_BYTES };
  return { range: { from, to }, summaryKey: `planned ${from}`, weight, depth: 1, model: 'planned' };
}
