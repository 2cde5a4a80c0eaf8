import type { Message } from '../../../domain/message.ts';
import {
  type HistoryWriter,
  inputOf,
  joinResults,
  thinkingOf,
  type Written,
  writeContent,
  writeParts,
} from './writer.ts';

/** Messages of Anthropic, as in a request. */
export const anthropicWriter: HistoryWriter = {
  name: 'anthropic',
  write: (messages) => {
    const first = messages.findIndex(({ role }) => role !== 'system');
    const start = first === -1 ? messages.length : first;
    const system = messages.slice(0, start).map(({ content }) => ({ type: 'text', text: content }));
    return { ...(system.length > 0 && { system }), messages: joinResults(messages.slice(start)).map(writeGroup) };
  },
};

function writeGroup(group: readonly Message[]): Written {
  const [message] = group as readonly [Message];
  switch (message.role) {
    case 'tool':
      return { role: 'user', content: group.map(writeResult) };
    case 'assistant':
      return { role: 'assistant', content: writeAnswer(message) };
    case 'system':
      return { role: 'system', content: message.content };
    default:
      return { role: 'user', content: writeContent(message, 'anthropic') };
  }
}

function writeResult(message: Message): Written {
  return {
    type: 'tool_result',
    tool_use_id: message.toolCallId,
    content: writeContent(message, 'anthropic'),
    ...(message.isError === true && { is_error: true }),
  };
}

function writeAnswer(message: Message): Written[] {
  const { toolCalls = [] } = message;
  return [
    ...thinkingOf(message, 'anthropic'),
    ...writeParts(message, 'anthropic'),
    ...toolCalls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) })),
  ];
}
