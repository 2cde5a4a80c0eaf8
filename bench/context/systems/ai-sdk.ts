import type { Message } from '../../../src/domain/message.ts';
import { findLargest, type Row, rowOfMessages, splitRounds, sumTokens } from '../row.ts';

interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

interface ToolPart {
  readonly type: 'tool-call' | 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
}

/** A message of the AI SDK. `index` is its place among the messages that it was made from. */
interface ModelMessage {
  readonly index: number;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly content: string | readonly (TextPart | ToolPart)[];
}

interface AiSdk {
  pruneMessages(given: { messages: ModelMessage[]; toolCalls: string; emptyMessages: 'remove' }): ModelMessage[];
}

/**
 * Row of the AI SDK's own code: https://www.npmjs.com/package/ai. `pruneMessages` knows no budget. The row keeps the
 * calls of as many messages as fit. If the texts alone are too large, it drops the oldest.
 */
export function aiSdkRows(sdk: AiSdk): Row[] {
  const compact = async (messages: readonly Message[], maxTokens: number): Promise<readonly Message[]> => {
    const prune = (count: number): Message[] => {
      const toolCalls = count === 0 ? 'all' : `before-last-${count}-messages`;
      return fromSdk(sdk.pruneMessages({ messages: toSdk(messages), toolCalls, emptyMessages: 'remove' }), messages);
    };
    const kept = await findLargest(messages.length, async (count) => sumTokens(prune(count)) <= maxTokens);
    if (kept !== -1) return prune(kept);
    const rounds = splitRounds(prune(0));
    while (rounds.length > 0 && sumTokens(rounds.flat()) > maxTokens) rounds.shift();
    return rounds.flat();
  };
  return [rowOfMessages('AI SDK pruneMessages', compact)];
}

function toSdk(messages: readonly Message[]): ModelMessage[] {
  const names = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)));
  return messages.map(({ role, content, toolCalls = [], toolCallId = '' }, index): ModelMessage => {
    if (role === 'tool') {
      const part: ToolPart = { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? '' };
      return { index, role, content: [part] };
    }
    if (role !== 'assistant') return { index, role: 'user', content };
    const text: TextPart[] = content === '' ? [] : [{ type: 'text', text: content }];
    const calls = toolCalls.map(({ id, name }): ToolPart => ({ type: 'tool-call', toolCallId: id, toolName: name }));
    return { index, role, content: [...text, ...calls] };
  });
}

function fromSdk(pruned: readonly ModelMessage[], messages: readonly Message[]): Message[] {
  return pruned.map(({ index, content }): Message => {
    const original = messages[index] as Message;
    const { toolCalls, ...rest } = original;
    if (toolCalls === undefined || typeof content === 'string') return original;
    const ids = new Set(content.map((part) => (part.type === 'tool-call' ? part.toolCallId : '')));
    const kept = toolCalls.filter(({ id }) => ids.has(id));
    if (kept.length === toolCalls.length) return original;
    return kept.length === 0 ? rest : { ...rest, toolCalls: kept };
  });
}
