import type { Message } from '../../../domain/message.ts';
import { readRawItems } from '../../../domain/raw-items.ts';
import { type HistoryWriter, inputOf, type Written, writeContent } from './writer.ts';

export const openaiChatWriter: HistoryWriter = {
  name: 'openai-chat',
  write: (messages) => ({ messages: messages.map(writeChatMessage) }),
};

function writeChatMessage(message: Message): Written {
  const { role, toolCallId, toolCalls = [] } = message;
  const content = writeContent(message, 'openai-chat');
  switch (role) {
    case 'tool':
      return { role, tool_call_id: toolCallId, content };
    case 'assistant':
      return {
        role,
        content: content === '' && toolCalls.length > 0 ? null : content,
        ...reasoningOf(message),
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        }),
      };
    default:
      return { role: role === 'system' ? role : 'user', content };
  }
}

function reasoningOf(message: Message): Written {
  const raw = readRawItems(message);
  const [item = {}] = raw?.format === 'openai-chat' ? raw.items : [];
  const fields = ['reasoning_content', 'reasoning', 'reasoning_details'].filter((field) => field in item);
  return Object.fromEntries(fields.map((field) => [field, item[field]]));
}

/** Messages of LangChain, as `messages_to_dict` and `toDict` write them. */
export const langchainWriter: HistoryWriter = {
  name: 'langchain',
  write: (messages) => messages.map(writeLangchainMessage),
};

function writeLangchainMessage(message: Message): Written {
  const { role, toolCallId, toolCalls = [], isError } = message;
  const content = writeContent(message, 'openai-chat');
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
