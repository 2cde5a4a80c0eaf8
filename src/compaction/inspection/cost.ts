import type { TurnUsage } from '../../domain/turn.ts';

/** Usage of model calls, as providers counted it. */
export interface Cost {
  /** Price in millionths of a US dollar. Absent if no price is known. */
  readonly microdollars?: number;
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** Part of `inputTokens` that providers read from their caches. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export function toCost({ inputTokens, outputTokens, cachedTokens = 0, costMicros = 0 }: TurnUsage): Cost {
  return { ...(costMicros > 0 && { microdollars: costMicros }), inputTokens, cachedTokens, outputTokens };
}
