import type { Message } from '../domain/message.ts';
import { hasHardReason, type Reason } from '../domain/pass.ts';
import { isThinking, readRawItems } from '../domain/raw-items.ts';

/**
 * True if a model has sent thinking together with tool calls, and has not yet given its final answer. The provider ties
 * such thinking to all messages before it, so a change of the context would make the thinking invalid.
 */
export function isThinkingLoopOpen(messages: readonly Message[]): boolean {
  const loop = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const last = loop.findLast(({ role }) => role === 'assistant');
  if (last?.toolCalls === undefined) return false;
  return loop.some((message) => readRawItems(message)?.items.some(isThinking) === true);
}

/**
 * A compaction pass without a hard reason waits until the model has answered. If a turn waits for the pass, it must not
 * wait: the turn could never answer.
 */
export function waitsForAnswer(reasons: readonly Reason[], messages: readonly Message[]): boolean {
  return !hasHardReason(reasons) && isThinkingLoopOpen(messages);
}
