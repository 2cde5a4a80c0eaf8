import type { Limits } from '../limits.ts';
import type { Layout } from './layout.ts';
import { describeRun, type Run } from './sequences.ts';

/** So many old pairs of a user message and its checkpoint are worth folding. */
const MIN_PAIRS = 8;
/** Of the budget: what checkpoints may take when the pass is done. */
const CHECKPOINTS_SHARE = 0.25;

/** What a summary will take of the context, about; its cap is a quarter of its source, and 2,000 tokens. */
function expectTokens(sourceTokens: number): number {
  return Math.min(2_000, sourceTokens / 4);
}

/**
 * How many tokens of checkpoints are too many once the sequences are summarized. With a new sequence in every turn there is
 * always another one to summarize: without folds beside them, 5,000 turns at 40,000 tokens ended with 98 % of those in
 * checkpoints.
 */
export function excessCheckpointTokens(
  { items }: Layout,
  sequences: readonly Run[],
  { maxTokens = Number.POSITIVE_INFINITY }: Limits,
): number {
  const present = items.reduce((sum, item) => sum + (item.message.role === 'checkpoint' ? item.tokens : 0), 0);
  const expected = sequences.reduce((sum, { tokens }) => sum + expectTokens(tokens), 0);
  return Math.max(0, present + expected - maxTokens * CHECKPOINTS_SHARE);
}

/**
 * The older half of the old (user, checkpoint) pairs as one sequence, with the checkpoint of an earlier fold before them; more
 * of them where that does not free so many tokens. Undefined where there are too few.
 */
export function findFold(layout: Layout, excessTokens: number): Run | undefined {
  const { items } = layout;
  const { from, start, pairs } = findPairs(layout);
  if (pairs < MIN_PAIRS) return undefined;
  let taken = Math.floor(pairs / 2);
  let { tokens } = describeRun(items, from, start + 2 * taken - 1);
  // The newest stays: what comes behind its checkpoint may be one run with it.
  while (taken < pairs - 1 && tokens - expectTokens(tokens) < excessTokens) {
    tokens += (items[start + 2 * taken]?.tokens ?? 0) + (items[start + 2 * taken + 1]?.tokens ?? 0);
    taken += 1;
  }
  return describeRun(items, from, start + 2 * taken - 1);
}

/** Positions: of what a fold may begin with, of the first pair; and how many pairs there are. */
function findPairs({ items, groupOf, groups, protections }: Layout) {
  const isOld = (position: number, kind: 'user' | 'checkpoint'): boolean => {
    const group = groupOf[position];
    return group !== undefined && groups[group]?.kind === kind && protections[group] === undefined;
  };
  let from = 0;
  while (from < items.length && !isOld(from, 'user') && !isOld(from, 'checkpoint')) from += 1;
  let start = from;
  while (isOld(start, 'checkpoint')) start += 1;
  let pairs = 0;
  while (isOld(start + 2 * pairs, 'user') && isOld(start + 2 * pairs + 1, 'checkpoint')) pairs += 1;
  return { from, start, pairs };
}
