import type { Message } from '../../src/domain/message.ts';

export function user(content: string, more: Partial<Message> = {}): Message {
  return { role: 'user', content, ...more };
}

export function callTools(...ids: string[]): Message {
  return { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, name: 'read', arguments: '{}' })) };
}

export function toolResult(toolCallId?: string, content = '', more: Partial<Message> = {}): Message {
  return { role: 'tool', content, ...(toolCallId !== undefined && { toolCallId }), ...more };
}
