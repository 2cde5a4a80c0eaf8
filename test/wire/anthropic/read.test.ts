import { describe, expect, test } from 'vitest';
import { readAnthropicAnswer } from '../../../src/wire/anthropic/answer.ts';
import { errorOf } from '../../domain/error-of.ts';
import { readAnthropic } from './read.ts';

describe('a body from elsewhere', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's=' };
  const use = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } };
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  const file = { type: 'document', source: { type: 'text', data: 'x' } };

  test('is read without marks', () => {
    const read = readAnthropic({
      model: 'model-1',
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'I read.' }, use] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no such file', is_error: true },
            { type: 'text', text: 'What is ' },
            image,
            { type: 'text', text: 'this?' },
            file,
          ],
        },
        { role: 'assistant', content: 'A picture.' },
      ],
    });
    expect(read).toEqual({
      system: 'Be brief.',
      tools: [{ name: 'read', description: '', parameters: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: 'I read.',
          toolCalls: [{ id: 'toolu_1', name: 'read', arguments: '{"path":"a"}' }],
          raw: { format: 'anthropic', model: 'model-1', items: [thinking, { type: 'text', text: 'I read.' }, use] },
        },
        { role: 'tool', content: 'no such file', toolCallId: 'toolu_1', isError: true },
        {
          role: 'user',
          content: 'What is this?',
          parts: [
            { type: 'text', text: 'What is ' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'text', text: 'this?' },
            file,
          ],
        },
        { role: 'assistant', content: 'A picture.' },
      ],
    });
  });

  test.each<[string, unknown]>([
    ['messages', {}],
    ['messages[0].role', { messages: [{ role: 'robot', content: '' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].id', { messages: [{ role: 'assistant', content: [{ ...use, id: 1 }] }] }],
    ['messages[0].content[0].tool_use_id', { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] }],
  ])('is rejected with the field if it is malformed: %s', (field, body) => {
    expect(errorOf(() => readAnthropic(body))).toMatchObject({ code: 'invalid_input', field });
  });
});

describe('an answer', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's=' };
  const use = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} };

  test('has its text, its calls, and its blocks verbatim', () => {
    const content = [thinking, { type: 'text', text: 'I ' }, { type: 'text', text: 'read.' }, use];
    expect(readAnthropicAnswer({ content, stop_reason: 'tool_use' })).toEqual({
      content: 'I read.',
      toolCalls: [{ id: 'toolu_1', name: 'read', arguments: '{}' }],
      end: 'complete',
      items: content,
    });
  });

  test.each([
    ['end_turn', 'complete'],
    ['stop_sequence', 'complete'],
    ['max_tokens', 'cut_off'],
    ['model_context_window_exceeded', 'cut_off'],
    ['pause_turn', 'cut_off'],
    ['refusal', 'refusal'],
    [null, 'cut_off'],
  ])('%s: %s', (stop_reason, end) => {
    expect(readAnthropicAnswer({ content: [], stop_reason }).end).toBe(end);
  });
});
