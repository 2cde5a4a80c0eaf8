import { type Backoff, NO_BACKOFF } from '../conversation.ts';
import { PASS_LIMITS, type PassOutcome } from '../pass.ts';
import type { BackoffCause } from '../pass-events.ts';

/** @returns why a soft pass would gain nothing at this size, or undefined if it may be requested */
export function findBackoffCause(
  { noGainBelowTokens, nothingBelowTokens }: Backoff,
  tokens: number,
): BackoffCause | undefined {
  if (tokens < noGainBelowTokens) return 'no_gain';
  return tokens < nothingBelowTokens ? 'nothing_to_do' : undefined;
}

/** Sizes at the time of an evaluation. */
interface EvaluatedSize {
  readonly tokens: number;
  readonly messageTokens: number;
  readonly calibration: number;
  readonly hardTokens?: number | undefined;
}

/** Adds the size below which an append need not request a pass. Hard reasons hold during a backoff, too. */
export function backOffAppends(backoff: Backoff, size: EvaluatedSize): Backoff {
  const softTokens = Math.max(backoff.nothingBelowTokens, backoff.noGainBelowTokens);
  if (softTokens === 0) return backoff;
  const { tokens, messageTokens, calibration } = size;
  const growth = nextCheckTokens(softTokens, size) - tokens;
  return { ...backoff, appendsBelowMessageTokens: messageTokens + Math.floor(growth / calibration) };
}

/** Finds the size of the next threshold check: the end of the backoff, or an unreached hard limit below it. */
function nextCheckTokens(softTokens: number, { tokens, hardTokens = 0 }: EvaluatedSize): number {
  if (softTokens <= tokens) return tokens;
  return hardTokens > tokens ? Math.min(softTokens, hardTokens) : softTokens;
}

/**
 * Computes the backoff after a pass.
 * @param tokens size of the context at the end of the pass
 * @param stepTokens growth that may change the result: `minSequenceTokens`
 */
export function nextBackoff(backoff: Backoff, outcome: PassOutcome, tokens: number, stepTokens: number): Backoff {
  const nothingBelowTokens = tokens + Math.max(1, stepTokens);
  switch (outcome.kind) {
    case 'committed':
    case 'approved':
      return NO_BACKOFF;
    case 'failed':
    case 'thinking':
      return backoff;
    case 'rejected':
    case 'expired':
      // The next pass would propose the same content. The context has to grow first, as after a restore.
      return { ...backoff, noGainBelowTokens: Math.ceil(tokens * PASS_LIMITS.backoffGrowth) };
    case 'no_reason':
    case 'none':
    case 'infeasible':
      // A pass that changed nothing neither counts as gainless nor resets the count.
      return { ...backoff, nothingBelowTokens };
    case 'no_gain': {
      const gainlessPasses = backoff.gainlessPasses + 1;
      const isBackoffDue = gainlessPasses >= PASS_LIMITS.backoffPasses;
      const noGainBelowTokens = isBackoffDue
        ? Math.ceil(tokens * PASS_LIMITS.backoffGrowth)
        : backoff.noGainBelowTokens;
      return { nothingBelowTokens, gainlessPasses, noGainBelowTokens };
    }
  }
}
