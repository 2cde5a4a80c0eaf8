import { hasHardReason, type Reason } from '../domain/compaction/thresholds.ts';
import type { Message } from '../domain/message.ts';
import { readRawItems } from '../domain/raw-items.ts';
import { isThinking } from '../wire/raw-items.ts';

/**
 * Tells if a turn is between its calls and its answer, and its model has sent thinking. Thinking is bound to every message
 * before it, so an edit would invalidate it.
 */
export function isThinkingLoopOpen(messages: readonly Message[]): boolean {
  const loop = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const last = loop.findLast(({ role }) => role === 'assistant');
  if (last?.toolCalls === undefined) return false;
  return loop.some((message) => readRawItems(message)?.items.some(isThinking) === true);
}

/** A soft pass waits for the end of the loop. A turn that waits for a hard pass could never end its loop. */
export function waitsForAnswer(reasons: readonly Reason[], messages: readonly Message[]): boolean {
  return !hasHardReason(reasons) && isThinkingLoopOpen(messages);
}
