import type { Message } from '../../../domain/message.ts';
import { dataUrl, type HistoryWriter, isPlain, partsOf, thinkingOf, type Written, type WrittenPart } from './writer.ts';

/** Items of OpenAI Responses, as in a request. */
export const responsesWriter: HistoryWriter = {
  name: 'openai-responses',
  write: (messages) => ({ input: messages.flatMap(writeMessage) }),
};

function writeMessage(message: Message): Written[] {
  const { role, content, toolCallId, toolCalls = [] } = message;
  switch (role) {
    case 'tool': {
      const output = isPlain(message) ? content : partsOf(message).map(writePart);
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
    default:
      return [
        { type: 'message', role: role === 'system' ? 'developer' : 'user', content: partsOf(message).map(writePart) },
      ];
  }
}

function writePart(part: WrittenPart): Written {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: dataUrl(part) };
    case 'image_url':
      return { type: 'input_image', image_url: part.url };
    case 'file':
      return {
        type: 'input_file',
        file_data: dataUrl(part),
        ...(part.name !== undefined && { filename: part.name }),
      };
    case 'file_url':
      return { type: 'input_file', file_url: part.url };
  }
}
