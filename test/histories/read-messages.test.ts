import { expect, test } from 'vitest';
import type { TurnfoldError } from '../../src/domain/errors.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { type HistoryOptions, readHistoryInSlices } from '../../src/wire/histories/history.ts';

const read = (messages: readonly unknown[], options?: HistoryOptions) =>
  runToEnd(readHistoryInSlices({ messages }, options));

const ask = { role: 'user', content: 'Weather in Graz?' };
const done = { role: 'assistant', content: '21 degrees.' };
const called = (id: string) => [{ id, name: 'weather', arguments: '{"city":"Graz"}' }];

test.each<[string, string, readonly unknown[]]>([
  [
    'OpenAI Chat',
    'c1',
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '21' },
    ],
  ],
  [
    'OpenAI functions',
    'call_1',
    [
      { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{"city":"Graz"}' } },
      { role: 'function', name: 'weather', content: '21' },
    ],
  ],
  [
    'Ollama',
    'call_1',
    [
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'weather', arguments: { city: 'Graz' } } }] },
      { role: 'tool', tool_name: 'weather', content: '21' },
    ],
  ],
  [
    'LangChain',
    'c1',
    [
      {
        type: 'ai',
        content: '',
        tool_calls: [{ name: 'weather', args: { city: 'Graz' }, id: 'c1', type: 'tool_call' }],
      },
      { type: 'tool', content: '21', tool_call_id: 'c1', status: 'success' },
    ],
  ],
  [
    'an older LangChain',
    'c1',
    [
      {
        type: 'ai',
        content: '',
        additional_kwargs: { tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{"city":"Graz"}' } }] },
      },
      { type: 'tool', content: '21', tool_call_id: 'c1' },
    ],
  ],
  [
    'Anthropic',
    'toolu_1',
    [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: '21' }] }],
      },
    ],
  ],
  [
    'a ModelMessage of the AI SDK',
    'c1',
    [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: { city: 'Graz' } }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'weather', output: { type: 'text', value: '21' } },
        ],
      },
    ],
  ],
  [
    'a CoreMessage of the AI SDK 4',
    'c1',
    [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'weather', args: { city: 'Graz' } }],
      },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'weather', result: 21 }] },
    ],
  ],
])('an import reads the call of %s and its result with name, arguments and text', (_name, id, round) => {
  const { messages, notes } = read([ask, ...round, done]);
  expect(messages).toMatchObject([
    ask,
    { role: 'assistant', toolCalls: called(id) },
    { role: 'tool', toolCallId: id, content: '21' },
    done,
  ]);
  expect(notes.every(({ kind }) => kind === 'mapped')).toBe(true);
});

test('an import reads the steps of a UIMessage as tool rounds, each with its calls and results', () => {
  const tool = (toolCallId: string) => ({
    type: 'tool-weather',
    toolCallId,
    state: 'output-available',
    input: { city: 'Graz' },
    output: { celsius: 21 },
  });
  const parts = [
    { type: 'step-start' },
    { type: 'text', text: 'I look.' },
    tool('a'),
    tool('b'),
    { type: 'step-start' },
    tool('c'),
    { type: 'text', text: 'Done.' },
  ];
  expect(read([ask, { id: 'm', role: 'assistant', parts }]).messages).toMatchObject([
    ask,
    { role: 'assistant', content: 'I look.', toolCalls: [{ id: 'a' }, { id: 'b' }] },
    { role: 'tool', toolCallId: 'a', content: '{"celsius":21}' },
    { role: 'tool', toolCallId: 'b' },
    { role: 'assistant', toolCalls: [{ id: 'c' }] },
    { role: 'tool', toolCallId: 'c' },
    { role: 'assistant', content: 'Done.' },
  ]);
});

test('an import reads a provider’s web search as a call with its result, and keeps the text after the search apart', () => {
  const content = [
    { type: 'text', text: 'I will search.' },
    { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'Karakorum 4' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 's1',
      content: [{ type: 'web_search_result', url: 'https://k.example', title: 'K4', encrypted_content: 'Eq' }],
    },
    {
      type: 'text',
      text: 'It came out in May.',
      citations: [{ title: 'K4', url: 'https://k.example', cited_text: 'released in May' }],
    },
  ];
  const { messages } = read([ask, { role: 'assistant', content }]);
  expect(messages).toMatchObject([
    ask,
    { content: 'I will search.', toolCalls: [{ name: 'web_search', arguments: '{"query":"Karakorum 4"}' }] },
    {
      role: 'tool',
      toolCallId: 's1',
      content: '[{"type":"web_search_result","url":"https://k.example","title":"K4"}]',
    },
    { content: 'It came out in May.\n[K4, https://k.example: "released in May"]' },
  ]);
});

test.each<[string, unknown, object]>([
  ['a refusal', { role: 'assistant', content: null, refusal: 'I will not.' }, { content: 'I will not.' }],
  [
    'a part with a refusal',
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
    { content: 'I will not.' },
  ],
  ['the name of a user', { role: 'user', name: 'Ines', content: 'the blue one' }, { content: 'Ines: the blue one' }],
  [
    'reasoning',
    { role: 'assistant', content: '5', reasoning_content: '2+3=5' },
    { raw: { items: [{ reasoning_content: '2+3=5' }] } },
  ],
  [
    'signed thinking',
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: '5' },
      ],
    },
    { content: '5', raw: { format: 'anthropic', items: [{ signature: 's' }] } },
  ],
  [
    'the transcript of sound',
    { role: 'assistant', content: null, audio: { id: 'a', transcript: 'Good morning.' } },
    { content: 'Good morning.' },
  ],
  [
    'sound',
    { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } }] },
    { parts: [{ type: 'input_audio' }] },
  ],
  [
    'a picture',
    { role: 'user', content: 'Look', images: ['iVBORw0KGgo='] },
    { content: 'Look', parts: [{ type: 'text' }, { type: 'image' }] },
  ],
  [
    'two texts',
    {
      role: 'user',
      content: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ],
    },
    { content: 'One.\nTwo.' },
  ],
  [
    'keys without content for a model',
    { id: 'm1', createdAt: 'now', role: 'user', content: 'hi', metadata: { a: 1 } },
    { content: 'hi' },
  ],
])('an import keeps %s of a message', (_name, message, expected) => {
  expect(read([ask, message]).messages[1]).toMatchObject(expected);
});

test.each<[string, string, unknown]>([
  ['an unknown part', 'messages[1].content[0].type', { role: 'user', content: [{ type: 'hologram' }] }],
  ['an unknown key', 'messages[1].mood', { role: 'user', content: 'hi', mood: 'good' }],
  [
    'a call without a name',
    'messages[1].tool_calls[0].function.name',
    { role: 'assistant', tool_calls: [{ id: 'a' }] },
  ],
])('an import refuses %s of a message, and names the path', (_name, field, message) => {
  expect(() => read([ask, message])).toThrow(
    expect.objectContaining({ code: 'invalid_input', field }) as TurnfoldError,
  );
});

test.each<[string, readonly unknown[]]>([
  [
    'null arguments',
    [
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'list', arguments: null } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'a' },
    ],
  ],
  [
    'a result without content',
    [
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'list', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: null },
    ],
  ],
  ['a user without content', [{ role: 'user', content: null }]],
])('an import repairs %s with a note, and a strict import refuses the file', (_name, messages) => {
  expect(read(messages).notes).toMatchObject([{ kind: 'repaired' }]);
  expect(() => read(messages, { isStrict: true })).toThrow(
    expect.objectContaining({ code: 'invalid_input' }) as TurnfoldError,
  );
});

test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'an import refuses a message part of the type %s, and names its path',
  (type) => {
    expect(() => read([{ role: 'user', content: [{ type, text: 'hello' }] }])).toThrow(
      expect.objectContaining({ code: 'invalid_input', field: 'messages[0].content[0].type' }),
    );
  },
);
