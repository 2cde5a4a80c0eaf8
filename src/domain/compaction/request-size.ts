import { FRAMING_TOKENS, type Limits, scaleTokens } from '../limits.ts';
import type { RequestOverhead } from '../size.ts';
import { hasTokenReason, type Reason } from './thresholds.ts';

/** Mean size of a request that holds items of this many tokens. The same sum as `contextSize` without an anchor. */
export function requestTokens({ overhead }: { readonly overhead: RequestOverhead }, itemTokens: number): number {
  return Math.round((itemTokens + overhead.tokens + FRAMING_TOKENS) * overhead.calibration);
}

export interface Budget {
  readonly limits: Limits;
  readonly overhead: RequestOverhead;
  readonly reasons: readonly Reason[];
}

/**
 * Tokens of items that have to go so that the request's upper bound is at most `maxTokens`; 0 where it is already, or
 * where no reason makes it a goal.
 */
export function excessTokens({ limits, overhead, reasons }: Budget, itemTokens: number): number {
  if (limits.maxTokens === undefined || !hasTokenReason(reasons)) return 0;
  const maxMean = Math.floor(scaleTokens(limits.maxTokens, 1 / limits.upperBoundFactor));
  // The largest count that the calibration does not round above it.
  const maxCount = Math.ceil((maxMean + 0.5) / overhead.calibration) - 1;
  return Math.max(0, itemTokens + overhead.tokens + FRAMING_TOKENS - maxCount);
}
