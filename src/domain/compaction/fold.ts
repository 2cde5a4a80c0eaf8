import type { Limits } from '../limits.ts';
import type { Layout } from './layout.ts';
import { describeRun, type Run } from './sequences.ts';

/** Pairs of an old user message and its summary from which a fold is useful. */
const MIN_PAIRS = 8;
/** Share of the budget that summaries may have after a pass. */
const MAX_SUMMARY_SHARE = 0.25;

/** Estimates the tokens of a summary: a quarter of its source, at most 2,000. */
function expectTokens(sourceTokens: number): number {
  return Math.min(2_000, sourceTokens / 4);
}

/**
 * Computes the tokens by which summaries would exceed their share after the sequences are summarized. Every turn adds a
 * sequence and thereby a summary. Without folds, 5,000 turns at 40,000 tokens ended with 98 % of the tokens in
 * summaries.
 */
export function excessSummaryTokens(
  { items }: Layout,
  sequences: readonly Run[],
  { maxTokens = Number.POSITIVE_INFINITY }: Limits,
): number {
  const present = items.reduce((sum, item) => sum + (item.message.role === 'summary' ? item.tokens : 0), 0);
  const expected = sequences.reduce((sum, { tokens }) => sum + expectTokens(tokens), 0);
  return Math.max(0, present + expected - maxTokens * MAX_SUMMARY_SHARE);
}

/**
 * Combines old pairs of a user message and its summary into one sequence, together with the summary of an earlier fold
 * before them. A fold takes the older half of the pairs, or more if that frees less than `excessTokens`.
 * @returns undefined if there are too few pairs
 */
export function findFold(layout: Layout, excessTokens: number): Run | undefined {
  const { items } = layout;
  const { from, start, pairs } = findPairs(layout);
  if (pairs < MIN_PAIRS) return undefined;
  let taken = Math.floor(pairs / 2);
  let { tokens } = describeRun(items, from, start + 2 * taken - 1);
  // The newest pair stays, because its summary may form a run with what follows.
  while (taken < pairs - 1 && tokens - expectTokens(tokens) < excessTokens) {
    tokens += (items[start + 2 * taken]?.tokens ?? 0) + (items[start + 2 * taken + 1]?.tokens ?? 0);
    taken += 1;
  }
  return describeRun(items, from, start + 2 * taken - 1);
}

/** Finds the position where a fold starts, the position of the first pair, and the number of pairs. */
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
