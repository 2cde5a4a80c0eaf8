import type { Context, ContextItem } from '../context.ts';
import type { Message } from '../message.ts';

/**
 * Finds the seqs of the inputs of the running turn: its user message, and those of the turns that steered it. A context
 * without a running turn belongs to a caller with its own model loop, or to a recorded log. There the last user message is
 * an input until the model answers the message without a tool call.
 */
export function findInputs({ items, inputs = [] }: Pick<Context, 'items' | 'inputs'>): ReadonlySet<number> {
  if (items.some(({ from }) => inputs.includes(from))) return new Set(inputs);
  const last = items.findLastIndex(({ message }) => message.role === 'user');
  const isAnswered = items.slice(last).some(({ message }) => isAnswer(message));
  return new Set(last < 0 || isAnswered ? [] : [(items[last] as ContextItem).from]);
}

function isAnswer({ role, toolCalls = [] }: Message): boolean {
  return role === 'assistant' && toolCalls.length === 0;
}

/** Checks whether an input of the running turn is shorter in `items` than in the context. */
export function isInputCut(context: Context, items: readonly ContextItem[]): boolean {
  const inputs = findInputs(context);
  const left = new Set(items);
  return context.items.some((item) => inputs.has(item.from) && !left.has(item));
}
