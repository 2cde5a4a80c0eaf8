import { hasHardReason, type Reason } from '../domain/compaction/thresholds.ts';
import type { Message } from '../domain/message.ts';
import { readRawItems } from '../domain/raw-items.ts';
import { isThinking } from '../wire/raw-items.ts';

/**
 * Whether a turn is between its calls and its answer, and the model has thought in it. An edit would cost it those thoughts:
 * they are bound to all that was sent before them.
 */
export function isThinkingLoopOpen(messages: readonly Message[]): boolean {
  const loop = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const last = loop.findLast(({ role }) => role === 'assistant');
  if (last?.toolCalls === undefined) return false;
  return loop.some((message) => readRawItems(message)?.items.some(isThinking) === true);
}

/** A soft pass waits until the loop has ended; a turn that waits for a hard one could not end it. */
export function waitsForAnswer(reasons: readonly Reason[], messages: readonly Message[]): boolean {
  return !hasHardReason(reasons) && isThinkingLoopOpen(messages);
}
