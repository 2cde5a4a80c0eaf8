import type { ContextItem } from '../../domain/context.ts';
import { readRawItems } from '../../domain/raw-items.ts';
import { isThinking } from '../../wire/raw.ts';

/**
 * Whether a turn is between its calls and its answer, and the model has thought in it. An edit would cost it those thoughts:
 * they are bound to all that was sent before them. A soft pass waits until the loop has ended.
 */
export function isThinkingLoopOpen(items: readonly ContextItem[]): boolean {
  const loop = items.slice(items.findLastIndex(({ message }) => message.role === 'user') + 1);
  const last = loop.findLast(({ message }) => message.role === 'assistant');
  if (last?.message.toolCalls === undefined) return false;
  return loop.some(({ message }) => readRawItems(message)?.items.some(isThinking) === true);
}
