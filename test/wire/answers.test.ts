import { describe, expect, test } from 'vitest';
import { readAnthropicAnswer } from '../../src/wire/anthropic/answer.ts';
import { readChatAnswer } from '../../src/wire/openai-chat/answer.ts';
import { readResponsesAnswer } from '../../src/wire/openai-responses/answer.ts';

describe('an Anthropic answer', () => {
  test('an Anthropic answer is read as its text, its tool calls and its verbatim blocks', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's=' };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} };
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
  ])('an Anthropic answer with stop_reason %s is read as an answer that ended as "%s"', (stop_reason, end) => {
    expect(readAnthropicAnswer({ content: [], stop_reason }).end).toBe(end);
  });
});

describe('a Chat answer', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } };

  test('a Chat Completions answer is read as its text, its tool calls and its message without empty fields', () => {
    const given = {
      role: 'assistant',
      content: null,
      refusal: null,
      annotations: [],
      parsed: null,
      reasoning_content: 'hm',
      tool_calls: [{ ...call, extra_content: { signature: 's=' } }],
    };
    expect(readChatAnswer({ finish_reason: 'tool_calls', message: given })).toEqual({
      content: '',
      toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"path":"a"}' }],
      end: 'complete',
      items: [
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ ...call, extra_content: { signature: 's=' } }],
        },
      ],
    });
  });

  test.each([
    ['stop', 'complete'],
    ['eos', 'complete'],
    ['length', 'cut_off'],
    ['model_length', 'cut_off'],
    ['insufficient_system_resource', 'cut_off'],
    ['content_filter', 'refusal'],
    [null, 'cut_off'],
  ])(
    'a Chat Completions answer with finish_reason %s is read as an answer that ended as "%s"',
    (finish_reason, end) => {
      expect(readChatAnswer({ finish_reason, message: { content: 'Hi.' } }).end).toBe(end);
    },
  );

  test('a Chat Completions answer in which the model refuses is read with the refusal as its text', () => {
    const message = { content: null, refusal: 'I cannot.' };
    expect(readChatAnswer({ finish_reason: 'stop', message })).toMatchObject({ content: 'I cannot.', end: 'refusal' });
  });
});

describe('a Responses answer', () => {
  const text = (value: string, more: object = {}) => ({ type: 'output_text', text: value, annotations: [], ...more });
  const message = (...content: unknown[]) => ({ type: 'message', id: 'msg_1', role: 'assistant', content });

  test('a Responses API answer is read as its text, its tool calls, and its items without the fields that the API refuses in a request', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
    const output = [
      reasoning,
      message(text('I ', { parsed: null }), text('look.')),
      message(text('So.')),
      { ...call, parsed_arguments: null, created_by: 'x' },
    ];
    expect(readResponsesAnswer({ status: 'completed', output })).toEqual({
      content: 'I look.\n\nSo.',
      toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"path":"a"}' }],
      end: 'complete',
      items: [reasoning, message(text('I '), text('look.')), message(text('So.')), call],
    });
  });

  test.each([
    ['completed', undefined, 'complete'],
    ['incomplete', 'max_output_tokens', 'cut_off'],
    ['incomplete', 'content_filter', 'refusal'],
    ['in_progress', undefined, 'cut_off'],
    [undefined, undefined, 'cut_off'],
  ])(
    'a Responses API answer with status %s and incomplete reason %s is read as an answer that ended as "%s"',
    (status, reason, end) => {
      const incomplete_details = reason === undefined ? null : { reason };
      const answer = { ...(status === undefined ? {} : { status }), incomplete_details, output: [] };
      expect(readResponsesAnswer(answer)).toMatchObject({ content: '', toolCalls: [], end });
    },
  );

  test('a Responses API answer in which the model refuses is read with the refusal as its text', () => {
    const output = [message({ type: 'refusal', refusal: 'I cannot.' })];
    expect(readResponsesAnswer({ status: 'completed', output })).toMatchObject({
      content: 'I cannot.',
      end: 'refusal',
    });
  });
});
