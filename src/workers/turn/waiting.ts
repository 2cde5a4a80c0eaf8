import type { Tool } from '../../domain/agent.ts';
import type { ToolCall } from '../../domain/message.ts';
import { type AnswerKind, type CallToWaitFor, TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';

/** The first backoff; it doubles with each wait of the same step. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MOST_MS = 60_000;

/**
 * @param step key of the model step whose calls are open
 * @param calls at least one
 */
export function waitForCalls(kind: AnswerKind, step: string, calls: readonly CallToWaitFor[]): WaitRequest {
  return { for: kind, step, waitMs: Math.min(...calls.map(({ waitMs }) => waitMs)), calls };
}

/** How long a call waits: each tool has its own deadline. */
export function readCallWait({ id, name, arguments: text }: ToolCall, tools: readonly Tool[]): CallToWaitFor {
  const { answerWithinMs = TURN_LIMITS.answerWithinMs } = tools.find((tool) => tool.name === name) ?? {};
  return { id, name, arguments: text, waitMs: answerWithinMs };
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
