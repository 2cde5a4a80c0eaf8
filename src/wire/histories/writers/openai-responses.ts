import type { Message } from '../../../domain/message.ts';
import { type HistoryWriter, thinkingOf, type Written, writeContent, writeParts } from './writer.ts';

export const responsesWriter: HistoryWriter = {
  name: 'openai-responses',
  write: (messages) => ({ input: messages.flatMap(writeMessage) }),
};

function writeMessage(message: Message): Written[] {
  const { role, content, toolCallId, toolCalls = [] } = message;
  switch (role) {
    case 'tool': {
      const output = writeContent(message, 'openai-responses');
      return [{ type: 'function_call_output', call_id: toolCallId, output }];
    }
    case 'assistant':
      return [
        ...thinkingOf(message, 'openai-responses'),
        ...(content === '' && toolCalls.length > 0
          ? []
          : [{ type: 'message', role, content: [{ type: 'output_text', text: content, annotations: [] }] }]),
        ...toolCalls.map(({ id, name, arguments: text }) => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: text,
        })),
      ];
    default: {
      const parts = writeParts(message, 'openai-responses');
      return [{ type: 'message', role: role === 'system' ? 'developer' : 'user', content: parts }];
    }
  }
}
