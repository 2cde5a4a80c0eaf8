import type { Limits } from '../limits.ts';
import type { Layout } from './layout.ts';
import { describeRun, type Run } from './sequences.ts';

/** So many old pairs of a user message and its checkpoint are worth folding. */
const MIN_PAIRS = 8;

/** Of the budget: where checkpoints take more, they are folded beside whatever else is summarized. */
const HEAVY_SHARE = 0.2;

/**
 * Whether checkpoints take so much of the budget that nothing else would get room: with a new sequence in every turn there is
 * always another one to summarize, and 5,000 turns at 40,000 tokens ended with 98 % of them in checkpoints.
 */
export function areCheckpointsHeavy({ items }: Layout, { maxTokens }: Limits): boolean {
  const tokens = items.reduce((sum, item) => sum + (item.message.role === 'checkpoint' ? item.tokens : 0), 0);
  return maxTokens !== undefined && tokens > maxTokens * HEAVY_SHARE;
}

/**
 * The older half of the old (user, checkpoint) pairs as one sequence, with the checkpoint of an earlier fold before them: a long
 * conversation would otherwise become a list of summaries that nothing makes shorter. Undefined where there are too few.
 */
export function findFold({ items, groupOf, groups, protections }: Layout): Run | undefined {
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
  if (pairs < MIN_PAIRS) return undefined;
  return describeRun(items, from, start + 2 * Math.floor(pairs / 2) - 1);
}
