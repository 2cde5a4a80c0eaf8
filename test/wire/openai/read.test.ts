import { describe, expect, test } from 'vitest';
import { errorOf } from '../../domain/error-of.ts';
import { readChat } from './read-chat.ts';
import { readResponses } from './read-responses.ts';

const PICTURE = 'data:image/png;base64,AAAA';

describe('a Chat body from elsewhere', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } };

  test('is read without marks', () => {
    const thoughtful = { role: 'assistant', content: 'I read.', tool_calls: [call], reasoning_content: 'hm' };
    const picture = { type: 'image_url', image_url: { url: PICTURE } };
    const read = readChat({
      model: 'model-1',
      tools: [{ type: 'function', function: { name: 'read' } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', text: 'Look' }, picture] },
        thoughtful,
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'found' }] },
        { role: 'system', content: 'Use French.' },
        { role: 'assistant', content: null, refusal: 'Non.' },
      ],
    });
    expect(read).toEqual({
      system: 'Be brief.\n\nBe kind.',
      tools: [{ name: 'read', description: '', parameters: {} }],
      messages: [
        { role: 'user', content: 'Look', parts: [{ type: 'text', text: 'Look' }, picture] },
        {
          role: 'assistant',
          content: 'I read.',
          toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"path":"a"}' }],
          raw: { format: 'openai-chat', model: 'model-1', items: [thoughtful] },
        },
        { role: 'tool', content: 'found', toolCallId: 'call_1' },
        { role: 'system', content: 'Use French.' },
        {
          role: 'assistant',
          content: 'Non.',
          raw: {
            format: 'openai-chat',
            model: 'model-1',
            items: [{ role: 'assistant', content: null, refusal: 'Non.' }],
          },
        },
      ],
    });
  });

  test('has no raw items for empty fields', () => {
    const plain = { role: 'assistant', content: 'Hi.', refusal: null, tool_calls: null };
    expect(readChat({ messages: [plain] }).messages).toEqual([{ role: 'assistant', content: 'Hi.' }]);
  });

  test.each<[string, unknown]>([
    ['messages', {}],
    ['messages[0].role', { messages: [{ role: 'function', content: '' }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: '' }] }],
    ['messages[0].tool_calls[0].id', { messages: [{ role: 'assistant', tool_calls: [{ ...call, id: 1 }] }] }],
  ])('is rejected with the field if it is malformed: %s', (field, body) => {
    expect(errorOf(() => readChat(body))).toMatchObject({ code: 'invalid_input', field });
  });
});

describe('a Responses body from elsewhere', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'read', arguments: '{}' });
  const says = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

  test('is read without marks, with an answer’s items as one message', () => {
    const read = readResponses({
      model: 'model-1',
      instructions: 'Be brief.',
      tools: [{ type: 'function', name: 'read', parameters: null }],
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image_url: PICTURE },
          ],
        },
        reasoning,
        says('I read.'),
        call('a'),
        call('b'),
        { type: 'function_call_output', call_id: 'a', output: 'one' },
        { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'two' }] },
        says('Done.'),
      ],
    });
    expect(read).toEqual({
      system: 'Be brief.',
      tools: [{ name: 'read', description: '', parameters: {} }],
      messages: [
        {
          role: 'user',
          content: 'Look',
          parts: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: PICTURE } },
          ],
        },
        {
          role: 'assistant',
          content: 'I read.',
          toolCalls: ['a', 'b'].map((id) => ({ id, name: 'read', arguments: '{}' })),
          raw: {
            format: 'openai-responses',
            model: 'model-1',
            items: [reasoning, says('I read.'), call('a'), call('b')],
          },
        },
        { role: 'tool', content: 'one', toolCallId: 'a' },
        { role: 'tool', content: 'two', toolCallId: 'b' },
        { role: 'assistant', content: 'Done.' },
      ],
    });
  });

  test('may have a string as its input', () => {
    expect(readResponses({ input: 'Hi.' }).messages).toEqual([{ role: 'user', content: 'Hi.' }]);
  });

  test.each<[string, unknown]>([
    ['input', {}],
    ['input[0].role', { input: [{ content: 'Hi.' }] }],
    ['input[0].arguments', { input: [{ ...call('a'), arguments: {} }] }],
    ['input[0].call_id', { input: [{ type: 'function_call_output', output: '' }] }],
  ])('is rejected with the field if it is malformed: %s', (field, body) => {
    expect(errorOf(() => readResponses(body))).toMatchObject({ code: 'invalid_input', field });
  });
});
