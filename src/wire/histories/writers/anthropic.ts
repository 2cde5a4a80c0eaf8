import type { Message } from '../../../domain/message.ts';
import {
  type HistoryWriter,
  inputOf,
  thinkingOf,
  type Written,
  writeBlockMessages,
  writeContent,
  writeParts,
} from './writer.ts';

export const anthropicWriter: HistoryWriter = {
  name: 'anthropic',
  write: (messages) => {
    const first = messages.findIndex(({ role }) => role !== 'system');
    const start = first === -1 ? messages.length : first;
    const system = messages.slice(0, start).map(({ content }) => ({ type: 'text', text: content }));
    const writers = { format: 'anthropic', resultRole: 'user', writeResult, writeAnswer } as const;
    return { ...(system.length > 0 && { system }), messages: writeBlockMessages(messages.slice(start), writers) };
  },
};

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
