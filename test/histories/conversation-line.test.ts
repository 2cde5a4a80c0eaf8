import { describe, expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import {
  openConversationLine,
  readConversationLine,
  writeConversationLine,
} from '../../src/wire/histories/conversation-line.ts';

const read = (messages: unknown, id?: string) => readConversationLine(JSON.stringify({ id, messages }), 3);
const readOne = (message: unknown): Message | undefined => read([message]).messages[0];

function refusalOf(act: () => unknown): TurnfoldError {
  try {
    act();
  } catch (error) {
    if (error instanceof TurnfoldError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('our format', () => {
  const messages: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Which files?', pinned: true },
    { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'list', arguments: '{"path":"."}' }] },
    { role: 'tool', content: 'README.md', toolCallId: 'a', isError: true, droppable: true },
    { role: 'summary', content: 'What was done.', summary: { from: 1, to: 4 } },
    { role: 'assistant', content: 'One.', raw: { model: 'm' }, parts: [{ type: 'image' }] },
  ];

  test('an imported line in turnfold’s format is read as it was written', () => {
    const line = writeConversationLine({ id: 'talk', messages });
    expect(line).not.toContain('\n');
    expect(readConversationLine(line, 1)).toStrictEqual({ id: 'talk', messages });
  });

  test('an imported line in turnfold’s format is accepted with arguments as an object, and with tool calls without content', () => {
    const call = { id: 'a', name: 'list', arguments: { path: '.' } };
    const expected = { role: 'assistant', content: '', toolCalls: [{ ...call, arguments: '{"path":"."}' }] };
    expect(readOne({ role: 'assistant', content: null, toolCalls: [call] })).toStrictEqual(expected);
    expect(readOne({ role: 'assistant', toolCalls: [call] })).toStrictEqual(expected);
  });

  test('an imported line in turnfold’s format keeps every key of its arguments, even `__proto__`', () => {
    const given = '{"b":[],"__proto__":{"a":1},"a":{}}';
    const line = `{"messages":[{"role":"assistant","toolCalls":[{"id":"a","name":"x","arguments":${given}}]}]}`;
    expect(readConversationLine(line, 1).messages[0]?.toolCalls?.[0]?.arguments).toBe(given);
  });

  test('an imported line without an id has its line number as conversation id', () => {
    expect(read([{ role: 'user', content: 'hi' }]).id).toBe('line-3');
  });

  test.each([[[{ role: 'robot' }]], ['none'], [undefined]])(
    'the conversation id of an imported line is read even if its messages are %j',
    (given) => {
      const opened = openConversationLine(JSON.stringify({ id: 'talk', messages: given }), 3);
      expect(opened.id).toBe('talk');
      expect(refusalOf(() => opened.readHistory()).field).toMatch(/^messages/);
    },
  );
});

describe('OpenAI’s chat format', () => {
  test('an imported line in OpenAI’s chat format is accepted with tool calls, results and the developer role', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'list', arguments: '{}' } };
    expect(
      read([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Which files?' },
        { role: 'assistant', content: null, tool_calls: [call], refusal: null },
        { role: 'tool', tool_call_id: 'call_1', content: 'README.md' },
        { role: 'assistant', content: 'One.', tool_calls: null, function_call: null },
      ]).messages,
    ).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Which files?' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'list', arguments: '{}' }] },
      { role: 'tool', content: 'README.md', toolCallId: 'call_1' },
      { role: 'assistant', content: 'One.' },
    ]);
  });

  test('an imported line in OpenAI’s chat format is accepted with arguments as an object', () => {
    const call = { id: 'a', type: 'function', function: { name: 'list', arguments: { path: '.' } } };
    expect(readOne({ role: 'assistant', content: null, tool_calls: [call] })?.toolCalls).toStrictEqual([
      { id: 'a', name: 'list', arguments: '{"path":"."}' },
    ]);
  });

  test('an imported line in OpenAI’s chat format is accepted with content parts: their text becomes the content, and all other parts are kept', () => {
    const text = { type: 'text', text: 'What is ' };
    const image = { type: 'image_url', image_url: { url: 'https://images.example/1.png' } };
    const parts = [text, image, { type: 'text', text: 'this?' }];
    expect(readOne({ role: 'user', content: parts })).toStrictEqual({ role: 'user', content: 'What is this?', parts });
    expect(readOne({ role: 'user', content: [text] })).toStrictEqual({ role: 'user', content: 'What is ' });
  });

  test('an imported line in OpenAI’s chat format is accepted with turnfold’s flags on its messages', () => {
    const call = { id: 'a', type: 'function', function: { name: 'list', arguments: '{}' } };
    const message = { role: 'tool', tool_call_id: 'a', content: 'no such file', isError: true, pinned: true };
    expect(read([{ role: 'assistant', tool_calls: [call] }, message]).messages[1]).toStrictEqual({
      role: 'tool',
      content: 'no such file',
      toolCallId: 'a',
      isError: true,
      pinned: true,
    });
  });

  test('an imported message that was stopped keeps its mark `stopped` in both formats', () => {
    const stopped = { role: 'assistant', content: 'Half', stopped: true };
    expect(readOne(stopped)).toStrictEqual(stopped);
    expect(readOne({ ...stopped, refusal: null })).toStrictEqual(stopped);
  });
});

describe('an import refuses a malformed line of its file with an error that names the field', () => {
  test.each<[string, string]>([
    ['{"id":', 'line 3'],
    ['5', 'line 3'],
    ['[]', 'line 3'],
    ['null', 'line 3'],
    ['{"id":"a"}', 'messages'],
    ['{"id":7,"messages":[]}', 'id'],
    ['{"messages":"none"}', 'messages'],
  ])('an import refuses the malformed line %s with an error for the field %s', (line, field) => {
    const refusal = refusalOf(() => readConversationLine(line, 3));
    expect(refusal).toMatchObject({ code: 'invalid_input', field });
    expect(refusal.message.startsWith(field)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['messages[1]', 'text'],
    ['messages[1].role', { role: 'robot', content: '' }],
    ['messages[1].content', { role: 'user' }],
    ['messages[1].content[0].type', { role: 'user', content: [{ value: 'no type' }] }],
    ['messages[1].content[0].type', { role: 'user', content: [{ type: 'hologram', data: '' }] }],
    ['messages[1].mood', { role: 'user', content: 'hi', mood: 'good' }],
    ['messages[1].mood', { role: 'tool', content: 'hi', toolCallId: 'a', mood: 'good' }],
    ['messages[1].toolCalls[0].arguments', { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'x' }] }],
    ['messages[1].toolCalls[0].arguments', { role: 'assistant', toolCalls: [{ id: 'a', name: 'x', arguments: [1] }] }],
    ['messages[1].toolCalls', { role: 'assistant', content: '', toolCalls: [] }],
    ['messages[1].content', { role: 'user', toolCalls: [{ id: 'a', name: 'x', arguments: '' }] }],
    // If this message were read in OpenAI's chat format, its tool calls would be lost silently.
    ['messages[1].toolCalls', { role: 'assistant', content: [], toolCalls: [{ id: 'a', name: 'x', arguments: '' }] }],
    ['messages[1].toolCallId', { role: 'tool', content: [{ type: 'text', text: 'x' }], toolCallId: 'a' }],
    ['messages[1].summary', { role: 'user', content: [], summary: { from: 1, to: 2 } }],
    ['messages[1].tool_calls[0].function', { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] }],
  ])('an import refuses a line with an error for the field %s if the line has the message %j', (field, message) => {
    const refusal = refusalOf(() => read([{ role: 'user', content: 'hi' }, message]));
    expect(refusal).toMatchObject({ code: 'invalid_input' });
    expect(refusal.field?.startsWith(field)).toBe(true);
  });
});
