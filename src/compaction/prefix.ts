import type { Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import { mostItemTokens, type PlanRequest } from './budget.ts';
import { weighItems } from './context.ts';
import { findLastModelSeq, type Landmarks, WHOLE_SHARE } from './layout.ts';

/** Start of a context that stays unchanged in a new version. Providers can read only this start from their cache. */
export interface KeptPrefix {
  readonly kept: Weight;
  /** Longest start that could stay if the pass removed as much just before the retention window. */
  readonly cheapest: Weight;
}

/** Items that a pass does not change are the same objects in both lists. */
export function measurePrefix(
  before: readonly ContextItem[],
  after: readonly ContextItem[],
  retentionWindow: number,
): KeptPrefix {
  let end = 0;
  while (end < before.length && before[end] === after[end]) end += 1;
  const windowStart = Math.max(0, before.length - retentionWindow);
  const room = weighItems(after).tokens - weighItems(before.slice(windowStart)).tokens;
  return {
    kept: weighItems(before.slice(0, end)),
    cheapest: weighItems(before.slice(0, Math.max(end, Math.min(windowStart, countWithin(before, room))))),
  };
}

export function findLandmarks(request: PlanRequest): Landmarks {
  const { context, policy, firstUserSeq } = request;
  const inputs = new Set(context.inputs);
  const budget = mostItemTokens(request) ?? 0;
  const prefixEnd = findPrefixEnd(context.items, { ...policy, inputs, budget });
  const requestFrom = findRequest(context.items, WHOLE_SHARE * budget);
  return { firstUserSeq, lastModelSeq: findLastModelSeq(context.items), inputs, prefixEnd, requestFrom };
}

/** Finds the first of the last user messages in a row. Messages of the row that do not fit are left out of it. */
function findRequest(items: readonly ContextItem[], maxTokens: number): number {
  const last = items.findLastIndex(({ message: { role } }) => role === 'user');
  let [from, tokens] = [items[last]?.from ?? Infinity, 0];
  for (let position = last; position >= 0; position -= 1) {
    const item = items[position] as ContextItem;
    if (item.message.role === 'system') continue;
    tokens += item.tokens;
    if (item.message.role !== 'user' || (tokens > maxTokens && position < last)) break;
    from = item.from;
  }
  return from;
}

/** Finds the last seq of the start to keep. `budget`: tokens for messages. `inputs`: seqs of the turn's inputs. */
export function findPrefixEnd(
  items: readonly ContextItem[],
  {
    keepPrefix,
    budget,
    inputs,
  }: { readonly keepPrefix: number; readonly budget: number; readonly inputs?: ReadonlySet<number> },
): number {
  if (keepPrefix === 0) return 0;
  // Fixed messages may be part of the start, so their tokens are subtracted from the budget first.
  const lastModel = items.findLastIndex(({ message: { role } }) => role === 'assistant');
  const lastUser = items.findLastIndex(({ message: { role } }) => role === 'user');
  const firstOther = items.findIndex(({ message: { role } }) => role !== 'system');
  const fixed = items.filter(
    ({ message, from }, position) =>
      position < firstOther ||
      message.pinned === true ||
      inputs?.has(from) === true ||
      position === lastUser ||
      position >= lastModel,
  );
  const room = budget - weighItems(lastModel < 0 ? items : fixed).tokens;
  return items[countWithin(items, keepPrefix * room) - 1]?.to ?? 0;
}

function countWithin(items: readonly ContextItem[], maxTokens: number): number {
  let [count, tokens] = [0, 0];
  for (const item of items) {
    tokens += item.tokens;
    if (tokens > maxTokens) break;
    count += 1;
  }
  return count;
}
