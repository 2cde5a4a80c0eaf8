import { NO_ORIGIN } from '../wire-request.ts';
import type { ChatMessage, ChatUserMessage } from './body.ts';
import type { LaidMessage } from './messages.ts';

/** Stand where a template wants another role: between two answers, and between results and what the user said then. */
const BETWEEN_ANSWERS = '(go on)';
const BEHIND_RESULTS = '(the results are noted)';

/**
 * For servers whose templates want user and assistant in turns, calls and results aside, and no user behind a result (C5):
 * neighbouring user messages become one, placeholders stand where a role is missing.
 */
export function alternateRoles(messages: readonly LaidMessage[]): LaidMessage[] {
  const laid: LaidMessage[] = [];
  let openCalls = 0;
  for (const next of messages) {
    const last = laid.at(-1);
    if (next.message.role === 'user' && last?.message.role === 'user') {
      laid[laid.length - 1] = mergeUsers(last, last.message, next, next.message);
      continue;
    }
    // A round that is still open stays so: no answer may stand behind it.
    if (next.message.role === 'user' && last?.message.role === 'tool' && openCalls === 0) {
      laid.push(placeholder({ role: 'assistant', content: BEHIND_RESULTS }));
    }
    if (next.message.role === 'assistant' && last?.message.role === 'assistant') {
      laid.push(placeholder({ role: 'user', content: BETWEEN_ANSWERS }));
    }
    if (next.message.role === 'assistant') openCalls = next.message.tool_calls?.length ?? 0;
    if (next.message.role === 'tool') openCalls -= 1;
    laid.push(next);
  }
  return laid;
}

function placeholder(message: ChatMessage): LaidMessage {
  return { message, origins: [NO_ORIGIN] };
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
