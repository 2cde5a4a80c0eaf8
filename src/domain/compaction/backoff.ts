import { type Backoff, NO_BACKOFF } from '../conversation.ts';
import { PASS_LIMITS, type PassOutcome } from '../pass.ts';
import type { BackoffCause } from '../pass-events.ts';

/** Whether a soft pass is not worth asking for: nothing was to be done at this size, or three passes in a row gained too little. */
export function isBackedOff(backoff: Backoff, tokens: number): boolean {
  return findBackoffCause(backoff, tokens) !== undefined;
}

/** What shuts the backoff; undefined where it is open. */
export function findBackoffCause(
  { noGainBelowTokens, nothingBelowTokens }: Backoff,
  tokens: number,
): BackoffCause | undefined {
  if (tokens < noGainBelowTokens) return 'no_gain';
  return tokens < nothingBelowTokens ? 'nothing_to_do' : undefined;
}

interface LookedAt {
  /** size of the context */
  readonly tokens: number;
  /** the same without what a request holds besides messages */
  readonly messageTokens: number;
  readonly calibration: number;
  readonly hardTokens?: number | undefined;
}

/** The backoff with the size below which an append need not ask for a pass. Hard reasons do not mind what shuts it. */
export function backOffAppends(backoff: Backoff, looked: LookedAt): Backoff {
  const softTokens = Math.max(backoff.nothingBelowTokens, backoff.noGainBelowTokens);
  if (softTokens === 0) return backoff;
  const { tokens, messageTokens, calibration } = looked;
  const growth = nextLook(softTokens, looked) - tokens;
  return { ...backoff, appendsBelowMessageTokens: messageTokens + Math.floor(growth / calibration) };
}

/** The size from which to look again: where the backoff opens or, if that comes first, at a hard limit not reached yet. */
function nextLook(softTokens: number, { tokens, hardTokens = 0 }: LookedAt): number {
  if (softTokens <= tokens) return tokens;
  return hardTokens > tokens ? Math.min(softTokens, hardTokens) : softTokens;
}

/**
 * The backoff after a pass.
 * @param tokens size of the context when it ended
 * @param stepTokens growth that may make a difference: `minSequenceTokens`
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
      // The same content would be proposed again: as after a restore, it has to grow first.
      return { ...backoff, noGainBelowTokens: Math.ceil(tokens * PASS_LIMITS.backoffGrowth) };
    case 'no_reason':
    case 'none':
    case 'infeasible':
      // Neither is a pass without gain: it does not count for the breaker, and it does not reset it.
      return { ...backoff, nothingBelowTokens };
    case 'no_gain': {
      const gainlessPasses = backoff.gainlessPasses + 1;
      const isOpened = gainlessPasses >= PASS_LIMITS.backoffPasses;
      const noGainBelowTokens = isOpened ? Math.ceil(tokens * PASS_LIMITS.backoffGrowth) : backoff.noGainBelowTokens;
      return { nothingBelowTokens, gainlessPasses, noGainBelowTokens };
    }
  }
}
