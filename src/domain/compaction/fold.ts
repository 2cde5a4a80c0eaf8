import type { Limits } from '../limits.ts';
import type { Layout } from './layout.ts';
import { describeRun, type Run } from './sequences.ts';

/** So many old pairs of a user message and its summary are worth folding. */
const MIN_PAIRS = 8;
/** Of the budget: what summaries may take when the pass is done. */
const SUMMARYS_SHARE = 0.25;

/** What a summary will take of the context, about; its cap is a quarter of its source, and 2,000 tokens. */
function expectTokens(sourceTokens: number): number {
  return Math.min(2_000, sourceTokens / 4);
}

/**
 * How many tokens of summaries are too many once the sequences are summarized. With a new sequence in every turn there is
 * always another one to summarize: without folds beside them, 5,000 turns at 40,000 tokens ended with 98 % of those in
 * summaries.
 */
export function excessSummaryTokens(
  { items }: Layout,
  sequences: readonly Run[],
  { maxTokens = Number.POSITIVE_INFINITY }: Limits,
): number {
  const present = items.reduce((sum, item) => sum + (item.message.role === 'summary' ? item.tokens : 0), 0);
  const expected = sequences.reduce((sum, { tokens }) => sum + expectTokens(tokens), 0);
  return Math.max(0, present + expected - maxTokens * SUMMARYS_SHARE);
}

/**
 * The older half of the old (user, summary) pairs as one sequence, with the summary of an earlier fold before them; more
 * of them where that does not free so many tokens. Undefined where there are too few.
 */
export function findFold(layout: Layout, excessTokens: number): Run | undefined {
  const { items } = layout;
  const { from, start, pairs } = findPairs(layout);
  if (pairs < MIN_PAIRS) return undefined;
  let taken = Math.floor(pairs / 2);
  let { tokens } = describeRun(items, from, start + 2 * taken - 1);
  // The newest stays: what comes behind its summary may be one run with it.
  while (taken < pairs - 1 && tokens - expectTokens(tokens) < excessTokens) {
    tokens += (items[start + 2 * taken]?.tokens ?? 0) + (items[start + 2 * taken + 1]?.tokens ?? 0);
    taken += 1;
  }
  return describeRun(items, from, start + 2 * taken - 1);
}

/** Positions: of what a fold may begin with, of the first pair; and how many pairs there are. */
function findPairs({ items, groupOf, groups, protections }: Layout) {
  const isOld = (position: number, kind: 'user' | 'summary'): boolean => {
    const group = groupOf[position];
    return group !== undefined && groups[group]?.kind === kind && protections[group] === undefined;
  };
  let from = 0;
  while (from < items.length && !isOld(from, 'user') && !isOld(from, 'summary')) from += 1;
  let start = from;
  while (isOld(start, 'summary')) start += 1;
  let pairs = 0;
  while (isOld(start + 2 * pairs, 'user') && isOld(start + 2 * pairs + 1, 'summary')) pairs += 1;
  return { from, start, pairs };
}
