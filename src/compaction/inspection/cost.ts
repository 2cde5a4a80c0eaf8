import type { TurnUsage } from '../../domain/turn.ts';

/** Cost of summaries, as counted by providers. */
export interface Cost {
  /** Millionths of a US dollar. Absent if no price is known. */
  readonly microdollars?: number;
  /** Input tokens, including cached tokens. */
  readonly inputTokens: number;
  /** Part of `inputTokens`. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export function toCost({ inputTokens, outputTokens, cachedTokens = 0, costMicros = 0 }: TurnUsage): Cost {
  return { ...(costMicros > 0 && { microdollars: costMicros }), inputTokens, cachedTokens, outputTokens };
}
