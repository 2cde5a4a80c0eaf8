import type { Message } from '../../src/domain/message.ts';

export const user = (content: string): Message => ({ role: 'user', content });
export const says = (content: string): Message => ({ role: 'assistant', content });
export const result = (toolCallId: string, content = 'found'): Message => ({ role: 'tool', toolCallId, content });
/** An assistant message with a tool call for each id. */
export const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'read', arguments: '{"path":"a"}' })),
});
