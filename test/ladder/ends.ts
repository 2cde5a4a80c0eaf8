import { hasHardReason } from '../../src/domain/compaction/thresholds.ts';
import { weighItems } from '../../src/domain/context.ts';
import { leastWeight } from './floor.ts';
import { isBudgetAGoal, isOverBudget, limitsOf, namesOfBroken, type SeenEnd } from './seen-pass.ts';

/** Checks that every end of a pass must pass, by name, with or without a version. */
const CHECKS: Readonly<Record<string, (end: SeenEnd) => boolean>> = {
  'a pass that was requested as manual or overflow takes place': ({ prepared, requested, outcome: { kind } }) =>
    kind !== 'no_reason' ||
    !prepared.policy.enabled ||
    !requested.some((reason) => reason === 'manual' || reason === 'overflow'),
  'a hard pass above the budget never ends as none or no_gain': (end) =>
    !hasHardReason(end.outcome.reasons) ||
    !isOverBudget(end, weighItems(end.before.items)) ||
    !['none', 'no_gain'].includes(end.outcome.kind),
  'an infeasible pass states a sum above its limit': (end) => {
    const { outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const { fixed, pinned, open, floor, max, bytes } = outcome.details;
    const isMax = max === limitsOf(end).maxTokens;
    return isMax && (fixed + pinned + open + floor > max || (bytes !== undefined && bytes.left > bytes.max));
  },
  'a pass is infeasible only if the protected messages alone exceed the limit': (end) => {
    const { prepared, before, firstUserSeq, outcome } = end;
    if (outcome.kind !== 'infeasible') return true;
    const least = leastWeight(
      { policy: prepared.policy, context: before, firstUserSeq },
      hasHardReason(outcome.reasons),
    );
    return isBudgetAGoal(end) && isOverBudget(end, least);
  },
  // Punctuation and escapes of JSON are estimated before the context is rendered.
  'a version is refused only for the bytes of a small request limit': ({ prepared: { limits }, outcome }) =>
    outcome.kind !== 'refused' || (limits.maxBytes !== undefined && outcome.refusal.codes.join() === 'X9'),
};

/** Lists the names of the checks that the end of a pass breaks. */
export function findEndBreaches(end: SeenEnd): string[] {
  return namesOfBroken(CHECKS, end);
}
