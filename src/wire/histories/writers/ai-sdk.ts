import type { Message } from '../../../domain/message.ts';
import { type HistoryWriter, inputOf, isPlain, type Written, writeBlockMessages, writeParts } from './writer.ts';

/** A list of `ModelMessage` of the AI SDK, versions 5 to 7. */
export const aiSdkWriter: HistoryWriter = {
  name: 'ai-sdk',
  write: (messages) => {
    const names = new Map(
      messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
    );
    const writeNamed = (message: Message): Written => writeResult(message, names);
    return writeBlockMessages(messages, { format: 'ai-sdk', resultRole: 'tool', writeResult: writeNamed, writeAnswer });
  },
};

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
