import type { Message } from '../../../domain/message.ts';
import { readRawItems } from '../../../domain/raw-items.ts';
import { dataUrl, type HistoryWriter, isPlain, partsOf, type Written, type WrittenPart } from './writer.ts';

/** Messages of OpenAI Chat, as in a request. */
export const openaiChatWriter: HistoryWriter = {
  name: 'openai-chat',
  write: (messages) => ({ messages: messages.map(writeMessage) }),
};

function writeMessage(message: Message): Written {
  const { role, toolCallId, toolCalls = [] } = message;
  const content = isPlain(message) ? message.content : partsOf(message).map(writeChatPart);
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

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'];

function reasoningOf(message: Message): Written {
  const raw = readRawItems(message);
  const [item] = raw?.format === 'openai-chat' ? raw.items : [];
  return Object.fromEntries(Object.entries(item ?? {}).filter(([key]) => REASONING.includes(key)));
}

/** Writes a part of a message. LangChain has the same form. */
export function writeChatPart(part: WrittenPart): Written {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: dataUrl(part) } };
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'file':
      return { type: 'file', file: { file_data: dataUrl(part), ...nameOf(part) } };
    case 'file_url':
      return { type: 'file', file: { file_url: part.url, ...nameOf(part) } };
  }
}

function nameOf({ name }: { readonly name?: string }): Written {
  return name === undefined ? {} : { filename: name };
}
