import { TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';

/** The first backoff; it doubles with each wait of the same step. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MOST_MS = 60_000;

/** @param step key of the model step whose calls are open */
export function waitForCalls(kind: 'tools' | 'approval', step: string, calls: readonly string[]): WaitRequest {
  const waitMs = kind === 'tools' ? TURN_LIMITS.toolsWaitMs : TURN_LIMITS.approvalWaitMs;
  return { for: kind, step, waitMs, calls: [...calls] };
}

/** @param passId the pass that was asked for */
export function waitForPass(step: string, passId: string): WaitRequest {
  return { for: 'compaction', step, waitMs: TURN_LIMITS.compactionWaitMs, calls: [], passId };
}

export interface RetryTimes {
  /** how often the step has waited for its provider already */
  readonly waits: number;
  /** ms until the provider asks to be called again: the earliest, since one in an outage may say "now" each time */
  readonly retryAfterMs?: number | undefined;
}

export function waitForRetry(step: string, { waits, retryAfterMs = 0 }: RetryTimes): WaitRequest {
  const backoffMs = Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** waits);
  return { for: 'retry', step, waitMs: Math.max(backoffMs, retryAfterMs), calls: [] };
}
