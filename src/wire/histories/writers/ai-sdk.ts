import type { Message } from '../../../domain/message.ts';
import { groupBy, type HistoryWriter, inputOf, isPlain, partsOf, type Written, type WrittenPart } from './writer.ts';

/** A list of `ModelMessage` of the AI SDK, versions 5 to 7. */
export const aiSdkWriter: HistoryWriter = {
  name: 'ai-sdk',
  write: (messages) => {
    const names = new Map(
      messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
    );
    return groupBy(messages, ({ role }) => role === 'tool').map((group) => writeGroup(group, names));
  },
};

function writeGroup(group: readonly Message[], names: ReadonlyMap<string, string>): Written {
  const [message] = group as readonly [Message];
  switch (message.role) {
    case 'tool':
      return { role: 'tool', content: group.map((result) => writeResult(result, names)) };
    case 'assistant':
      return { role: 'assistant', content: writeAnswer(message) };
    case 'system':
      return { role: 'system', content: message.content };
    default:
      return { role: 'user', content: isPlain(message) ? message.content : partsOf(message).map(writePart) };
  }
}

function writeResult(message: Message, names: ReadonlyMap<string, string>): Written {
  const { content, toolCallId = '', isError } = message;
  const output = isPlain(message)
    ? { type: isError === true ? 'error-text' : 'text', value: content }
    : { type: 'content', value: partsOf(message).map(writeShown) };
  return { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? 'tool', output };
}

function writeAnswer(message: Message): Written[] {
  const { content, toolCalls = [] } = message;
  const calls = toolCalls.map((call) => ({
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.name,
    input: inputOf(call),
  }));
  return [...(content === '' && calls.length > 0 ? [] : [{ type: 'text', text: content }]), ...calls];
}

function writePart(part: WrittenPart): Written {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', image: part.base64, mediaType: part.mediaType };
    case 'image_url':
      return { type: 'image', image: part.url };
    case 'file':
      return { type: 'file', data: part.base64, mediaType: part.mediaType, ...nameOf(part) };
    case 'file_url':
      return { type: 'file', data: part.url, mediaType: part.mediaType, ...nameOf(part) };
  }
}

/** Part of a tool result. */
function writeShown(part: WrittenPart): Written {
  if (part.kind === 'image' || part.kind === 'file') {
    return { type: 'media', data: part.base64, mediaType: part.mediaType };
  }
  return part.kind === 'text' ? { type: 'text', text: part.text } : { type: 'text', text: part.url };
}

function nameOf({ name }: { readonly name?: string }): Written {
  return name === undefined ? {} : { filename: name };
}
