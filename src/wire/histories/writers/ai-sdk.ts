import type { Message } from '../../../domain/message.ts';
import { type HistoryWriter, inputOf, isPlain, joinResults, type Written, writeContent, writeParts } from './writer.ts';

/** A list of `ModelMessage` of the AI SDK, versions 5 to 7. */
export const aiSdkWriter: HistoryWriter = {
  name: 'ai-sdk',
  write: (messages) => {
    const names = new Map(
      messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
    );
    return joinResults(messages).map((group) => writeGroup(group, names));
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
      return { role: 'user', content: writeContent(message, 'ai-sdk') };
  }
}

function writeResult(message: Message, names: ReadonlyMap<string, string>): Written {
  const { content, toolCallId = '', isError } = message;
  const output = isPlain(message)
    ? { type: isError === true ? 'error-text' : 'text', value: content }
    : { type: 'content', value: writeParts(message, 'ai-sdk result') };
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
