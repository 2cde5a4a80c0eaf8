import type { Message } from '../../../domain/message.ts';
import {
  groupBy,
  type HistoryWriter,
  inputOf,
  isPlain,
  partsOf,
  thinkingOf,
  type Written,
  type WrittenPart,
} from './writer.ts';

/** Messages of Anthropic, as in a request. */
export const anthropicWriter: HistoryWriter = {
  name: 'anthropic',
  write: (messages) => {
    const first = messages.findIndex(({ role }) => role !== 'system');
    const start = first === -1 ? messages.length : first;
    const system = messages.slice(0, start).map(({ content }) => ({ type: 'text', text: content }));
    const groups = groupBy(messages.slice(start), ({ role }) => role === 'tool');
    return { ...(system.length > 0 && { system }), messages: groups.map(writeGroup) };
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
      return { role: 'user', content: contentOf(message) };
  }
}

function contentOf(message: Message): unknown {
  return isPlain(message) ? message.content : partsOf(message).map(writePart);
}

function writeResult(message: Message): Written {
  return {
    type: 'tool_result',
    tool_use_id: message.toolCallId,
    content: contentOf(message),
    ...(message.isError === true && { is_error: true }),
  };
}

function writeAnswer(message: Message): Written[] {
  const { toolCalls = [] } = message;
  return [
    ...thinkingOf(message, 'anthropic'),
    ...partsOf(message).map(writePart),
    ...toolCalls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) })),
  ];
}

function writePart(part: WrittenPart): Written {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.base64 } };
    case 'image_url':
      return { type: 'image', source: { type: 'url', url: part.url } };
    case 'file':
      return {
        type: 'document',
        source: { type: 'base64', media_type: part.mediaType, data: part.base64 },
        ...(part.name !== undefined && { title: part.name }),
      };
    case 'file_url':
      return {
        type: 'document',
        source: { type: 'url', url: part.url },
        ...(part.name !== undefined && { title: part.name }),
      };
  }
}
