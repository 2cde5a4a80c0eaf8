import { weighItems } from '../../src/compaction/context.ts';
import { addWeights, subtractWeights, type Weight } from '../../src/domain/message.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { findSystemPlaces } from '../domain/system-places.ts';
import { floorOrder, type ProtectedGroup, protectGroups } from './floor.ts';
import { isBudgetAGoal, isOverBudget, limitsOf, type SeenPass, sizeOf, weighSent } from './seen-pass.ts';

/** Least share of the budget that a context fills while its source had more. */
const MIN_FILL = 0.7;

/**
 * Lists what a version left out although it fits what is left of the budget. Empty if the version fills enough of its tokens or
 * bytes. Messages under a summary and masked results count as shown.
 */
export function findFitting(pass: SeenPass): string[] {
  if (isFull(pass)) return [];
  const { policy } = pass.prepared;
  const groups = protectGroups({ policy, context: pass.before, firstUserSeq: pass.firstUserSeq });
  const floor = floorOrder({ policy, context: pass.before, firstUserSeq: pass.firstUserSeq });
  // The oldest groups of the floor leave first, so only the last that left may return.
  const next = floor.findLast((group) => isGone(pass, group));
  const { repeated } = findSystemPlaces(pass.before.items, pass.firstUserSeq);
  return groups.flatMap((group) => {
    const isRepeated = group.positions.some((position) => repeated.has(position));
    if (isRepeated || group.items.every(({ message }) => message.droppable === true)) return [];
    if (!isGone(pass, group)) return findShortened(pass, group).map(nameOf);
    const mayReturn = group.protection !== 'floor' || nameOf(group.items[0]) === nameOf(next?.items[0]);
    return mayReturn && mayStand(pass, group) && fits(pass, weighItems(group.items)) ? [nameOf(group.items[0])] : [];
  });
}

function isFull(pass: SeenPass): boolean {
  const { maxTokens, maxBytes } = limitsOf(pass);
  if (!isBudgetAGoal(pass) || maxTokens === undefined) return true;
  const { tokens, bytes } = sizeOf(pass, weighSent(pass.after.items));
  return tokens >= MIN_FILL * maxTokens || (maxBytes !== undefined && bytes >= MIN_FILL * maxBytes);
}

function fits(pass: SeenPass, added: Weight): boolean {
  return !isOverBudget(pass, addWeights(weighSent(pass.after.items), added));
}

/** True if nothing of the group is shown, and no summary covers it. */
function isGone({ after }: SeenPass, { items }: ProtectedGroup): boolean {
  return items.every(({ from, to }) => after.items.every((item) => to < item.from || item.to < from));
}

/** Checks that the group would not be a first message that compaction must not choose. */
function mayStand({ after }: SeenPass, { items: [first] }: ProtectedGroup): boolean {
  const role = first?.message.role;
  if (role === 'user' || role === 'summary') return true;
  const opening = after.items.find(({ message }) => message.role !== 'system');
  return opening !== undefined && opening.from < (first?.from ?? 0);
}

/** Messages of the group that a version clipped although they fit whole. */
function findShortened(pass: SeenPass, { items }: ProtectedGroup): ContextItem[] {
  return items.filter((item) => {
    const now = pass.after.items.find(({ from, to }) => from === item.from && to === item.to);
    const kind = now?.segment?.kind;
    if (now === undefined || (kind !== 'clipped' && kind !== 'excerpt') || now.segment === item.segment) return false;
    return fits(pass, subtractWeights(item, now));
  });
}

function nameOf(item: ContextItem | undefined): string {
  return `message ${item?.from} with ${item?.tokens} tokens fits, but is not shown whole`;
}
