import { NO_ORIGIN } from '../wire-request.ts';
import type { ChatUserMessage } from './body.ts';
import type { LaidMessage } from './messages.ts';

/** Goes between two answers where a template wants the roles to alternate. */
const BETWEEN_ANSWERS = '(go on)';

/**
 * For servers whose templates refuse two messages of one role in a row (C5): neighbouring user messages become one, and a
 * placeholder stands between two answers.
 */
export function alternateRoles(messages: readonly LaidMessage[]): LaidMessage[] {
  const laid: LaidMessage[] = [];
  for (const next of messages) {
    const last = laid.at(-1);
    if (next.message.role === 'user' && last?.message.role === 'user') {
      laid[laid.length - 1] = mergeUsers(last, last.message, next, next.message);
      continue;
    }
    if (next.message.role === 'assistant' && last?.message.role === 'assistant') {
      laid.push({ message: { role: 'user', content: BETWEEN_ANSWERS }, origins: [NO_ORIGIN] });
    }
    laid.push(next);
  }
  return laid;
}

function mergeUsers(
  first: LaidMessage,
  { content: before }: ChatUserMessage,
  second: LaidMessage,
  { content: after }: ChatUserMessage,
): LaidMessage {
  return {
    message: { role: 'user', content: [...partsOf(before), ...partsOf(after)] },
    origins: [...first.origins, ...second.origins],
  };
}

function partsOf(content: ChatUserMessage['content']): Exclude<ChatUserMessage['content'], string> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
