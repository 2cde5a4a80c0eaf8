import type { Message } from '../../../domain/message.ts';
import { writeChatPart } from './openai-chat.ts';
import { type HistoryWriter, inputOf, isPlain, partsOf, type Written } from './writer.ts';

/** Messages of LangChain, as `messages_to_dict` and `toDict` write them. */
export const langchainWriter: HistoryWriter = {
  name: 'langchain',
  write: (messages) => messages.map(writeMessage),
};

function writeMessage(message: Message): Written {
  const { role, toolCallId, toolCalls = [], isError } = message;
  const content = isPlain(message) ? message.content : partsOf(message).map(writeChatPart);
  switch (role) {
    case 'tool':
      return {
        type: 'tool',
        data: { content, tool_call_id: toolCallId, status: isError === true ? 'error' : 'success' },
      };
    case 'assistant':
      return {
        type: 'ai',
        data: {
          content,
          tool_calls: toolCalls.map((call) => ({
            id: call.id,
            name: call.name,
            args: inputOf(call),
            type: 'tool_call',
          })),
        },
      };
    default:
      return { type: role === 'system' ? 'system' : 'human', data: { content } };
  }
}
