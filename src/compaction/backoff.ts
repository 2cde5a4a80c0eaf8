import { type Backoff, NO_BACKOFF } from '../domain/conversation.ts';
import { PASS_LIMITS, type PassOutcome } from '../domain/pass.ts';
import type { BackoffCause } from '../domain/pass-events.ts';

/** @returns why a soft pass would gain nothing at this size, or undefined if it may be requested */
export function findBackoffCause(
  { noGainBelowTokens, nothingBelowTokens }: Backoff,
  tokens: number,
): BackoffCause | undefined {
  if (tokens < noGainBelowTokens) return 'no_gain';
  return tokens < nothingBelowTokens ? 'nothing_to_do' : undefined;
}

interface EvaluatedSize {
  readonly tokens: number;
  readonly messageTokens: number;
  readonly calibration: number;
  readonly hardTokens?: number | undefined;
}

/** Adds the size below which an append need not request a pass. Hard reasons still request a pass during a backoff. */
export function backOffAppends(backoff: Backoff, size: EvaluatedSize): Backoff {
  const softTokens = Math.max(backoff.nothingBelowTokens, backoff.noGainBelowTokens);
  if (softTokens === 0) return backoff;
  const { tokens, messageTokens, calibration } = size;
  const growth = nextCheckTokens(softTokens, size) - tokens;
  return { ...backoff, appendsBelowMessageTokens: messageTokens + Math.floor(growth / calibration) };
}

function nextCheckTokens(softTokens: number, { tokens, hardTokens = 0 }: EvaluatedSize): number {
  if (softTokens <= tokens) return tokens;
  return hardTokens > tokens ? Math.min(softTokens, hardTokens) : softTokens;
}

interface EndSize {
  readonly tokens: number;
  /** Growth in tokens after which another pass may end differently: the policy's `minSequenceTokens`. */
  readonly stepTokens: number;
  /** Tokens from which a soft pass is due. Undefined if no threshold of the policy is a size. */
  readonly softTokens?: number | undefined;
}

export function nextBackoff(backoff: Backoff, outcome: PassOutcome, size: EndSize): Backoff {
  const { tokens, stepTokens } = size;
  const nothingBelowTokens = tokens + Math.max(1, stepTokens);
  switch (outcome.kind) {
    case 'committed':
    case 'approved':
      return afterCommit(size);
    case 'failed':
    case 'thinking':
      return backoff;
    case 'rejected':
    case 'expired':
      // The next pass would propose the same content, so the context has to grow first.
      return { ...backoff, noGainBelowTokens: grow(tokens) };
    case 'infeasible':
      return { ...backoff, nothingBelowTokens: Math.max(nothingBelowTokens, grow(tokens)) };
    case 'no_reason':
    case 'none':
      // A pass that changed nothing neither adds to the count of gainless passes nor resets that count.
      return { ...backoff, nothingBelowTokens };
    case 'no_gain': {
      const gainlessPasses = backoff.gainlessPasses + 1;
      const isBackoffDue = gainlessPasses >= PASS_LIMITS.backoffPasses;
      const noGainBelowTokens = isBackoffDue ? grow(tokens) : backoff.noGainBelowTokens;
      return { nothingBelowTokens, gainlessPasses, noGainBelowTokens };
    }
  }
}

/** Starts a backoff if a few more messages would start the next pass. Each pass voids the provider's cache. */
function afterCommit({ tokens, softTokens = Number.POSITIVE_INFINITY }: EndSize): Backoff {
  return grow(tokens) > softTokens ? { ...NO_BACKOFF, nothingBelowTokens: grow(tokens) } : NO_BACKOFF;
}

function grow(tokens: number): number {
  return Math.ceil(tokens * PASS_LIMITS.backoffGrowth);
}
