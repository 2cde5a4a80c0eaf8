import type { TurnUsage } from '../../domain/turn.ts';

/** As providers counted it. */
export interface Cost {
  /** Millionths of a US dollar. Absent if no price is known. */
  readonly microdollars?: number;
  /** Cached ones included. */
  readonly inputTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export function toCost({ inputTokens, outputTokens, cachedTokens = 0, costMicros = 0 }: TurnUsage): Cost {
  return { ...(costMicros > 0 && { microdollars: costMicros }), inputTokens, cachedTokens, outputTokens };
}
