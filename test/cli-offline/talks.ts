import type { Message } from '../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { wireFormats } from '../../src/wire/formats.ts';

/** Messages of recorded conversations, as a file has them. */
export const system = { role: 'system', content: 'Be brief.' };
export const user = (content: string) => ({ role: 'user', content });
export const says = (content: string) => ({ role: 'assistant', content });
export const calls = (id: string, input: unknown = {}) => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'look', arguments: JSON.stringify(input) }],
});
export const result = (toolCallId: string, content = 'much to read '.repeat(200)) => ({
  role: 'tool',
  toolCallId,
  content,
});

/** Turns of a tool agent: a round of about 600 tokens and an answer behind each question. Every round reads another page. */
export function toolTurns(turns: number, from = 0): Record<string, unknown>[] {
  return Array.from({ length: turns }, (_, index) => from + index).flatMap((turn) => [
    user(`question ${turn}`),
    calls(`x${turn}`, { page: turn }),
    result(`x${turn}`),
    says(`answer ${turn}`),
  ]);
}

/** Format rules that the messages and one more user message break, in any format. */
export function violationsOf(messages: readonly Message[]): unknown[] {
  const probed: Message[] = [...messages, { role: 'user', content: 'probe' }];
  const request = { model: 'm', system: '', tools: [], messages: probed, version: 1, maxOutputTokens: 100 };
  return WIRE_FORMATS.flatMap((format) => {
    const { render, validate } = wireFormats[format];
    return validate(render(request).body, { isProbed: true });
  });
}
