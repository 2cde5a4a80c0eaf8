import { TURN_LIMITS, type Waiting, type WaitRequest } from '../../domain/turn.ts';

/** The first backoff; it doubles with each wait of the same step. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MOST_MS = 60_000;

/** @param step key of the model step whose calls are open */
export function waitForCalls(kind: 'tools' | 'approval', step: string, calls: readonly string[], now: number): Waiting {
  const waitMs = kind === 'tools' ? TURN_LIMITS.toolsWaitMs : TURN_LIMITS.approvalWaitMs;
  return { for: kind, step, until: now + waitMs, calls: [...calls] };
}

export function waitForPass(step: string, now: number): Waiting {
  return { for: 'compaction', step, until: now + TURN_LIMITS.compactionWaitMs, calls: [] };
}

export interface RetryTimes {
  readonly now: number;
  /** how often the step has waited for its provider already */
  readonly waits: number;
  /** when the provider asks to be called again; one that says "now" is still given a moment */
  readonly retryAt?: number | undefined;
}

export function waitForRetry(step: string, { now, waits, retryAt }: RetryTimes): Waiting {
  const backoffMs = Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** waits);
  const until = retryAt === undefined ? now + backoffMs : Math.max(retryAt, now + RETRY_FIRST_MS);
  return { for: 'retry', step, until, calls: [] };
}

/**
 * The same wait as the store is asked for: a time that a provider named, and this worker's own, mean nothing there.
 * @param now by the clock that `until` was set by
 */
export function toWaitRequest({ until, ...wait }: Waiting, now: number): WaitRequest {
  return { ...wait, waitMs: Math.max(0, until - now) };
}
