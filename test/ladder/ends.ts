import { hasHardReason } from '../../src/domain/pass.ts';
import { leastWeight } from './floor.ts';
import { isBudgetAGoal, isOverBudget, limitsOf, namesOfBroken, type SeenEnd, weighSent } from './seen-pass.ts';

/** Checks that must hold for the outcome of every compaction pass, whether it made a version or not. */
const CHECKS: Readonly<Record<string, (end: SeenEnd) => boolean>> = {
  'a compaction pass requested as manual or overflow is never skipped': ({ prepared, requested, outcome: { kind } }) =>
    kind !== 'no_reason' ||
    !prepared.policy.enabled ||
    !requested.some((reason) => reason === 'manual' || reason === 'overflow'),
  'a hard compaction pass above maxTokens never ends as none or no_gain': (end) =>
    !hasHardReason(end.outcome.reasons) ||
    !isOverBudget(end, weighSent(end.before.items)) ||
    !['none', 'no_gain'].includes(end.outcome.kind),
  'an infeasible compaction pass states a sum above its limit': (end) => {
    const { outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const { fixed, pinned, open, floor, max, bytes } = outcome.details;
    const isMax = max === limitsOf(end).maxTokens;
    return isMax && (fixed + pinned + open + floor > max || (bytes !== undefined && bytes.left > bytes.max));
  },
  'a compaction pass is infeasible only if the protected messages alone exceed the limit': (end) => {
    const { prepared, before, firstUserSeq, outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const least = leastWeight(
      { policy: prepared.policy, context: before, firstUserSeq },
      hasHardReason(outcome.reasons),
    );
    return isBudgetAGoal(end) && isOverBudget(end, least);
  },
  'a summary that was written for a compaction pass stands in its version': ({
    prepared: { limits },
    written,
    outcome,
  }) => {
    // A small request limit may refuse the version with its summaries, because the size of JSON syntax is only estimated.
    if (limits.maxBytes !== undefined && outcome.kind !== 'infeasible') return true;
    const segments = outcome.kind === 'version' ? outcome.settled.segments : [];
    return written.every(({ from, to }) =>
      segments.some((segment) => segment.kind === 'summary' && segment.from === from && segment.to === to),
    );
  },
  // Before the context is rendered, the size of JSON syntax and escapes is only estimated.
  'a version is refused only for the bytes of a small request limit': ({ prepared: { limits }, outcome }) =>
    outcome.kind !== 'refused' || (limits.maxBytes !== undefined && outcome.refusal.codes.join() === 'X9'),
};

/** Lists the names of the checks that the outcome of a compaction pass breaks. */
export function findEndBreaches(end: SeenEnd): string[] {
  return namesOfBroken(CHECKS, end);
}
