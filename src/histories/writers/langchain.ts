import type { Message } from '../../domain/message.ts';
import { dataUrl, type HistoryWriter, inputOf, isPlain, partsOf, type Written, type WrittenPart } from './writer.ts';

/** Messages of LangChain, as `messages_to_dict` and `toDict` write them. */
export const langchainWriter: HistoryWriter = {
  name: 'langchain',
  write: (messages) => messages.map(writeMessage),
};

function writeMessage(message: Message): Written {
  const { role, toolCallId, toolCalls = [], isError } = message;
  const content = isPlain(message) ? message.content : partsOf(message).map(writePart);
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

function writePart(part: WrittenPart): Written {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: dataUrl(part) } };
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'file':
      return {
        type: 'file',
        file: { file_data: dataUrl(part), ...(part.name !== undefined && { filename: part.name }) },
      };
    case 'file_url':
      return { type: 'file', file: { file_url: part.url, ...(part.name !== undefined && { filename: part.name }) } };
  }
}
