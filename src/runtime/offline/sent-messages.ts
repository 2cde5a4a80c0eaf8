import type { Message } from '../../domain/message.ts';
import { arrangeRequest } from '../../wire/arrange.ts';
import type { SentPart } from '../../wire/parts.ts';
import type { ArrangedItem } from '../../wire/wire-request.ts';

/**
 * The messages of a request as it is sent, in our own form: system messages in front, summaries as the user messages that
 * they are sent as, results behind their calls, nothing empty, a user message first. Formats then differ in spelling alone.
 * @throws orphan_result, duplicate_call where the messages are no history
 */
export function renderSentMessages(
  messages: readonly Message[],
  { version, system: prompt }: { readonly version: number; readonly system: string },
): Message[] {
  const request = { model: 'offline', system: prompt, tools: [], messages, version, maxOutputTokens: 1 };
  const { system, items } = arrangeRequest(request, 'openai-chat');
  return [
    ...system.map(({ text }): Message => ({ role: 'system', content: text })),
    ...items.map((item) => sentMessage(item, messages)),
  ];
}

function sentMessage(item: ArrangedItem, messages: readonly Message[]): Message {
  if (item.kind === 'assistant') {
    const toolCalls = item.calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    return { role: 'assistant', content: item.text, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
  }
  const said = sentContent(item.parts, messages[item.origin]);
  if (item.kind === 'user') return { role: 'user', ...said };
  return { role: 'tool', toolCallId: item.callId, ...said, ...(item.isError ? { isError: true } : {}) };
}

/** Text as one text; where there are pictures, the parts as they were given beside it. */
function sentContent(parts: readonly SentPart[], original: Message | undefined): Pick<Message, 'content' | 'parts'> {
  const content = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const hasPictures = parts.some(({ kind }) => kind !== 'text');
  return hasPictures && original?.parts !== undefined ? { content, parts: original.parts } : { content };
}
