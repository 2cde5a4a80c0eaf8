import type { BudgetDivision } from '../domain/pass-plan.ts';
import type { Policy } from '../domain/policy.ts';
import type { SeqRange } from '../domain/version.ts';
import type { Run } from './sequences.ts';

/** Maximum size of a summary as a share of its source. A larger summary would save too little. */
const MAX_SOURCE_SHARE = 0.5;
/** `MAX_SOURCE_SHARE` of a hard pass. With 0.5, a source of 1.1 times the budget would fill only half of the budget. */
export const HARD_SOURCE_SHARE = 0.75;
/** Tokens of the tags around a summary. The policy's cap is for the text inside. */
const TAG_TOKENS = 36;
/** Maximum tokens of a summary if the policy sets none. Models seldom write more, and every token is paid for. */
const MODEL_CAP_TOKENS = 2_000;
/**
 * A smaller room for messages is filled by one kind of content: whole messages, or one summary. Tags, marks and a second
 * kind would take a fifth of the room.
 */
export const SMALL_ROOM_TOKENS = 600;
/** Minimum tokens of a summary. A shorter summary says too little. */
const LEAST_TOKENS = 160;

export interface CappedSequence extends SeqRange {
  readonly tokens: number;
  /** Maximum tokens of the summary, including the copied words of users. */
  readonly maxTokens: number;
  /** Part of `maxTokens` for the words of users, if the source has any. */
  readonly userTokens: number;
}

type Source = Pick<Run, 'tokens' | 'newTokens' | 'userTokens'>;

export interface CapRules extends Pick<Policy, 'summarizer' | 'budgetShares'> {
  readonly sourceShare?: number;
}

/** Maximum tokens of a summary, without the words of users. An old summary in its source counts in full. */
export function maxSummaryTokens(
  { tokens, newTokens, userTokens }: Source,
  { summarizer, sourceShare = MAX_SOURCE_SHARE }: CapRules,
): number {
  const share = tokens - newTokens + Math.floor((newTokens - userTokens) * sourceShare);
  if (summarizer === 'structural') return share;
  const cap = typeof summarizer === 'string' ? undefined : summarizer.maxTokens;
  return Math.min(share, (cap ?? MODEL_CAP_TOKENS) + TAG_TOKENS);
}

export function minSummaryTokens(maxTokens: number): number {
  return Math.min(LEAST_TOKENS, maxTokens);
}

/** Divides both budgets by the needs of the sequences. Without `users`, user messages stay in place. */
export function capFolds(
  runs: readonly Run[],
  policy: CapRules,
  { summaries, users = 0 }: Pick<BudgetDivision, 'summaries'> & { readonly users?: number },
): CappedSequence[] {
  const texts = divide(
    runs.map((run) => maxSummaryTokens(run, policy)),
    summaries,
  );
  const words = divide(
    runs.map((run) => run.userTokens),
    users,
  );
  return runs.map(({ from, to, tokens, newTokens }, index) => {
    const [text, own] = [texts[index] as number, words[index] as number];
    // An old summary may begin with words of users, which are copied again.
    const copied = Math.floor(Math.min(text, tokens - newTokens) * usersShareOf(policy));
    return { from, to, tokens, maxTokens: text + own, userTokens: own + copied };
  });
}

function divide(most: readonly number[], tokens: number): number[] {
  const sum = most.reduce((total, one) => total + one, 0);
  return most.map((one) => (sum <= tokens ? one : Math.floor((tokens * one) / sum)));
}

function usersShareOf({ budgetShares: { users, summaries } }: CapRules): number {
  return users === 0 ? 0 : users / (users + summaries);
}
