import type { Policy } from '../policy.ts';
import type { Sliced } from '../sliced.ts';
import { type PlanRequest, requestTokens, requestTokensOf, weighSent } from './budget.ts';
import { Ladder } from './ladder.ts';
import type { AcceptedSummary } from './summaries.ts';
import type { CappedSequence } from './summary-caps.ts';
import { hasHardReason } from './thresholds.ts';

/** Checks whether a smaller context is worth a version. A soft pass must save a share, because providers cache the old one. */
export function isGain({ minGain }: Pick<Policy, 'minGain'>, before: number, after: number, isHard: boolean): boolean {
  return after < before && (isHard || before - after >= minGain * before);
}

/** Bytes of a token, roughly. Only the tokens of a summary matter here. */
const TOKEN_BYTES = 4;

/**
 * Checks whether a pass saves enough with these summaries, even if each is as large as its cap. A summary of a pass without
 * gain would be paid for and not used.
 * @param ladder the context after drops and masks
 */
export function* savesEnough(
  request: PlanRequest,
  ladder: Ladder,
  sequences: readonly CappedSequence[],
): Sliced<boolean> {
  const { policy, reasons, context } = request;
  if (hasHardReason(reasons)) return true;
  const before = requestTokensOf(request, context.items);
  const isEnough = (itemTokens: number): boolean => isGain(policy, before, requestTokens(request, itemTokens), false);
  const saved = sequences.reduce((sum, { tokens, maxTokens }) => sum + tokens - maxTokens, 0);
  if (isEnough(weighSent(ladder.items).tokens - saved)) return true;
  // The settlement may clip and evict more.
  if (!ladder.isOver) return false;
  const settling = new Ladder(request);
  yield* settling.trim();
  yield* settling.summarize(sequences.map(largestSummary), context.version.number + 1);
  yield* settling.descend();
  return isEnough(weighSent(settling.items).tokens);
}

function largestSummary({ from, to, maxTokens }: CappedSequence): AcceptedSummary {
  const weight = { tokens: maxTokens, bytes: maxTokens * TOKEN_BYTES };
  return { range: { from, to }, summaryKey: `planned ${from}`, weight, depth: 1, model: 'planned' };
}
