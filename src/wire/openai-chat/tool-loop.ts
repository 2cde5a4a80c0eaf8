import type { Origin } from '../wire-request.ts';
import type { LaidMessage } from './messages.ts';
import { dropReasoning } from './own-message.ts';

export interface LoopMessages {
  readonly messages: readonly LaidMessage[];
  /** messages that lost what their model thought */
  readonly dropped: ReadonlySet<Origin>;
}

/**
 * C7: an open model's thinking goes back inside the tool loop that it belongs to, and nowhere else. The loop is what the model
 * did since the user last spoke; pictures of results, which only a user message may show, are no word of the user's.
 */
export function keepReasoningInLoop(laid: readonly LaidMessage[]): LoopMessages {
  const dropped = new Set<Origin>();
  const start = laid.findLastIndex(
    ({ message, isOfResults }, index) =>
      message.role === 'user' && !(isOfResults === true && laid[index - 1]?.message.role === 'tool'),
  );
  const messages = laid.map((given, index) => {
    if (index > start || given.message.role !== 'assistant') return given;
    const message = dropReasoning(given.message);
    if (message === given.message) return given;
    for (const origin of given.origins) dropped.add(origin);
    return { ...given, message };
  });
  return { messages, dropped };
}
