import { FRAMING_TOKENS, type Limits, scaleTokens } from '../limits.ts';
import { NO_WEIGHT, type Weight } from '../message.ts';
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
 * What of the items has to go so that the request's upper bound is at most `maxTokens`, and its bytes at most the provider's
 * cap; nothing where it is already, or where no reason makes it a goal.
 */
export function excessWeight({ limits, overhead, reasons }: Budget, items: Weight): Weight {
  if (!hasTokenReason(reasons)) return NO_WEIGHT;
  const bytes = limits.maxBytes === undefined ? 0 : Math.max(0, items.bytes + overhead.bytes - limits.maxBytes);
  if (limits.maxTokens === undefined) return { tokens: 0, bytes };
  const maxMean = Math.floor(scaleTokens(limits.maxTokens, 1 / limits.upperBoundFactor));
  // The largest count that the calibration does not round above it.
  const maxCount = Math.ceil((maxMean + 0.5) / overhead.calibration) - 1;
  return { tokens: Math.max(0, items.tokens + overhead.tokens + FRAMING_TOKENS - maxCount), bytes };
}
