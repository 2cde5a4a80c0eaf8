import { hasHardReason } from '../../src/domain/compaction/thresholds.ts';
import { weighItems } from '../../src/domain/context.ts';
import { leastWeight } from './floor.ts';
import { isBudgetAGoal, isOverBudget, limitsOf, namesOfBroken, type SeenEnd } from './seen-pass.ts';

/** Checks that every end of a pass must pass, by name, with or without a version. */
const CHECKS: Readonly<Record<string, (end: SeenEnd) => boolean>> = {
  'is made when somebody asks for it': ({ prepared, requested, outcome: { kind } }) =>
    kind !== 'no_reason' ||
    !prepared.policy.enabled ||
    !requested.some((reason) => reason === 'manual' || reason === 'overflow'),
  'leaves nothing above the budget without a word, with a hard reason': (end) =>
    !hasHardReason(end.outcome.reasons) ||
    !isOverBudget(end, weighItems(end.before.items)) ||
    !['none', 'no_gain'].includes(end.outcome.kind),
  'is infeasible by its own sum': (end) => {
    const { outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const { fixed, pinned, open, floor, max, bytes } = outcome.details;
    const isMax = max === limitsOf(end).maxTokens;
    return isMax && (fixed + pinned + open + floor > max || (bytes !== undefined && bytes.left > bytes.max));
  },
  'is infeasible only where the least that must stay is too much': (end) => {
    const { prepared, before, firstUserSeq, outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const least = leastWeight(
      { policy: prepared.policy, context: before, firstUserSeq },
      hasHardReason(outcome.reasons),
    );
    return isBudgetAGoal(end) && isOverBudget(end, least);
  },
  // Punctuation and escapes of JSON are estimated before the context is rendered.
  'is refused for nothing but the bytes of a small cap': ({ prepared: { limits }, outcome }) =>
    outcome.kind !== 'refused' || (limits.maxBytes !== undefined && outcome.refusal.codes.join() === 'X9'),
};

/** Names of what the end of a pass broke. */
export function findEndBreaches(end: SeenEnd): string[] {
  return namesOfBroken(CHECKS, end);
}
