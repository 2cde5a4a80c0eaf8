import { FRAMING_TOKENS, type Limits, scaleTokens } from '../limits.ts';
import { NO_WEIGHT, type Weight } from '../message.ts';
import type { RequestOverhead } from '../size.ts';
import { hasTokenReason, type Reason } from './thresholds.ts';

/** Mean size of a request with these item tokens. The same sum as `contextSize` without an anchor. */
export function requestTokens({ overhead }: { readonly overhead: RequestOverhead }, itemTokens: number): number {
  return Math.round((itemTokens + overhead.tokens + FRAMING_TOKENS) * overhead.calibration);
}

/** Sizes and reasons that determine the target of a pass. */
export interface Budget {
  readonly limits: Limits;
  readonly overhead: RequestOverhead;
  readonly reasons: readonly Reason[];
}

/**
 * Computes the weight that must go until the upper bound of the request is at most `maxTokens` and its bytes fit the
 * provider. Zero if the request fits, or if no reason makes the budget a target.
 */
export function excessWeight({ limits, overhead, reasons }: Budget, items: Weight): Weight {
  if (!hasTokenReason(reasons)) return NO_WEIGHT;
  const bytes = limits.maxBytes === undefined ? 0 : Math.max(0, items.bytes + overhead.bytes - limits.maxBytes);
  if (limits.maxTokens === undefined) return { tokens: 0, bytes };
  const maxMean = Math.floor(scaleTokens(limits.maxTokens, 1 / limits.upperBoundFactor));
  // The largest count that calibration does not round above the limit.
  const maxCount = Math.ceil((maxMean + 0.5) / overhead.calibration) - 1;
  return { tokens: Math.max(0, items.tokens + overhead.tokens + FRAMING_TOKENS - maxCount), bytes };
}
