import { expect, test } from 'vitest';
import { outline, readDocument, readLines } from './read-file.ts';

const CALLED = [
  { role: 'user', content: 'Weather?' },
  { role: 'assistant', content: 'I look.', calls: [['c1', 'weather', '{"city":"Graz"}']] },
  { role: 'tool', content: '21', toolCallId: 'c1' },
  { role: 'assistant', content: '21 degrees.' },
];

const LANGCHAIN = [
  { type: 'human', content: 'Weather?', id: 'h1', additional_kwargs: {}, response_metadata: {}, example: false },
  {
    type: 'ai',
    content: [
      { type: 'text', text: 'I look.', index: 0 },
      { type: 'tool_use', id: 'c1', name: 'weather', input: {} },
    ],
    tool_calls: [{ name: 'weather', args: { city: 'Graz' }, id: 'c1', type: 'tool_call' }],
    tool_call_chunks: [{ name: 'weather', args: '', index: 1 }],
    invalid_tool_calls: [],
    usage_metadata: { input_tokens: 1 },
  },
  { type: 'tool', content: '21', tool_call_id: 'c1', name: 'weather', status: 'success', artifact: null },
  { type: 'ai', content: '21 degrees.', tool_calls: [] },
];

function constructorOf(name: string, kwargs: object): object {
  return { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', name], kwargs };
}

const LC = [
  constructorOf('HumanMessage', { content: 'Weather?' }),
  constructorOf('AIMessageChunk', LANGCHAIN[1] as object),
  constructorOf('ToolMessage', { content: '21', tool_call_id: 'c1' }),
  constructorOf('AIMessage', { content: '21 degrees.' }),
];

test.each([
  ['a list by types', LANGCHAIN],
  ['a dump', LC],
  ['stored messages', LANGCHAIN.map(({ type, ...data }) => ({ type, data }))],
  ['the state of a graph', { values: { messages: LANGCHAIN }, next: [] }],
  ['a checkpoint', { v: 1, channel_values: { messages: LC } }],
  ['the states of a graph', [{ values: { messages: LANGCHAIN } }, { values: { messages: LANGCHAIN.slice(0, 1) } }]],
])('an import reads LangChain messages of %s', (_name, document) => {
  const read = readDocument(document);
  expect(read.map(({ format }) => format)).toEqual(['langchain']);
  expect(outline(read[0]?.messages ?? [])).toEqual(CALLED);
});

test('an import reads the tool calls of old LangChain versions from `additional_kwargs`', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } };
  const [read] = readDocument([
    LANGCHAIN[0],
    { type: 'ai', content: 'I look.', additional_kwargs: { tool_calls: [call] } },
    ...LANGCHAIN.slice(2),
  ]);
  expect(outline(read?.messages ?? [])).toEqual(CALLED);
});

const CHAT = [
  { role: 'user', content: 'Weather?' },
  {
    role: 'assistant',
    content: 'I look.',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: '21' },
  { role: 'assistant', content: '21 degrees.' },
];

test.each([
  ['a list', CHAT, undefined],
  ['a request', { model: 'm', messages: CHAT, tools: [] }, undefined],
  ['tau-bench', [{ task_id: 3, reward: 1, info: {}, traj: CHAT, trial: 0 }], '3-0'],
  [
    'SWE-agent',
    { environment: 'swe', trajectory: [], history: CHAT.map((message) => ({ ...message, agent: 'main' })) },
    undefined,
  ],
])('an import reads OpenAI messages of %s', (_name, document, id) => {
  const [read] = readDocument(document);
  expect(read).toMatchObject({ format: 'openai-chat', id });
  expect(outline(read?.messages ?? [])).toEqual(CALLED);
});

test('an import of a file with several conversations reads each conversation', () => {
  const read = readDocument([
    { task_id: 1, traj: CHAT },
    { task_id: 2, traj: CHAT.slice(3) },
  ]);
  expect(read.map(({ id, messages }) => [id, messages.length])).toEqual([
    ['1', 4],
    ['2', 1],
  ]);
});

test('an import reads the system prompt and the messages of an Anthropic request', () => {
  const [read] = readDocument({
    model: 'claude',
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Graz' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '21' }] },
      { role: 'assistant', content: '21 degrees.' },
    ],
  });
  expect(read?.format).toBe('anthropic');
  expect(outline(read?.messages ?? [])).toEqual([{ role: 'system', content: 'Be brief.' }, ...CALLED]);
});

test('an import reads a Cline task', () => {
  const [read] = readDocument([
    { role: 'user', content: [{ type: 'text', text: '<task>\nWeather?\n</task>' }], ts: 1 },
    { role: 'assistant', content: [{ type: 'text', text: '21' }], modelInfo: { modelId: 'm' }, metrics: {}, ts: 2 },
  ]);
  expect(read?.format).toBe('cline');
  expect(read?.messages.map(({ content }) => content)).toEqual(['<task>\nWeather?\n</task>', '21']);
});

test('an import reads UIMessages of the AI SDK', () => {
  const [read] = readDocument([
    { id: '1', role: 'user', parts: [{ type: 'text', text: 'Weather?' }] },
    {
      id: '2',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'text', text: 'I look.', state: 'done' },
        { type: 'tool-weather', toolCallId: 'c1', state: 'output-available', input: { city: 'Graz' }, output: '21' },
        { type: 'step-start' },
        { type: 'text', text: '21 degrees.' },
      ],
    },
  ]);
  expect(read?.format).toBe('ai-sdk');
  expect(outline(read?.messages ?? [])).toEqual(CALLED);
});

test.each([
  ['function_call', 'observation', '{"name": "search", "arguments": {"q": "rice"}}', ''],
  ['gpt', 'tool', 'I look.\n<tool_call>\n{"name": "search", "arguments": {"q": "rice"}}\n</tool_call>', 'I look.'],
])('an import of a ShareGPT file reads the calls of %s and %s', (caller, answerer, call, said) => {
  const [read] = readLines({
    conversations: [
      { from: 'human', value: 'Hi' },
      { from: caller, value: call },
      { from: answerer, value: 'found' },
      { from: 'gpt', value: 'Here.' },
    ],
  });
  const { messages = [] } = read ?? {};
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'Hi'],
    ['assistant', said],
    ['tool', 'found'],
    ['assistant', 'Here.'],
  ]);
  const [made] = messages[1]?.toolCalls ?? [];
  expect(made).toMatchObject({ name: 'search', arguments: '{"q":"rice"}' });
  expect(messages[2]?.toolCallId).toBe(made?.id);
});

test('an import reads a fine-tuning file whose message parts have `value` fields', () => {
  const [read] = readLines({
    messages: [
      { role: 'user', content: [{ type: 'text', value: 'Hi' }], loss_weight: 0 },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', value: 'A film.' },
          { type: 'tool_call', value: '{"name": "search", "arguments": {"q": "rice"}}' },
        ],
        loss_weight: 1,
      },
      { role: 'tool', content: [{ type: 'text', value: 'found' }] },
    ],
  });
  const { messages = [] } = read ?? {};
  expect(messages.map(({ content }) => content)).toEqual(['Hi', '', 'found']);
  expect(messages[1]?.toolCalls).toMatchObject([{ name: 'search' }]);
  expect(JSON.stringify(messages[1]?.raw)).toContain('A film.');
});

test('an import refuses a text part without a text', () => {
  expect(() => readLines({ messages: [{ role: 'user', content: [{ type: 'text', body: 'Hi' }] }] })).toThrow(
    'content[0].text: expected a string',
  );
});

test('an import reads a ShareGPT file with one conversation on each line', () => {
  const read = readLines(
    {
      id: 'a',
      conversations: [
        { from: 'human', value: 'Hi' },
        { from: 'gpt', value: 'Hello' },
      ],
    },
    { id: 'b', system: 'Be brief.', conversations: [{ from: 'human', value: 'Hi' }] },
  );
  expect(read.map(({ id, messages }) => [id, messages.map(({ role }) => role)])).toEqual([
    ['a', ['user', 'assistant']],
    ['b', ['system', 'user']],
  ]);
});

test('an import reads Anthropic answers as the API returned them, including the fields beside their content', () => {
  const [read] = readDocument([
    { role: 'user', content: 'Go on.' },
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'compaction', content: 'A summary.' },
        { type: 'fallback', from: { model: 'm' }, to: { model: 'n' } },
        { type: 'text', text: 'Done.' },
      ],
      stop_reason: 'end_turn',
      stop_details: { type: 'x' },
      container: { id: 'container_1' },
      context_management: { applied_edits: [] },
      usage: {},
    },
  ]);
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: 'A summary.\nDone.' },
  ]);
  expect(read?.notes).toMatchObject([
    { at: '[1].content[0]', kind: 'mapped', what: 'a summary of the provider is kept as a text' },
    { at: '[1].content[1]', kind: 'left_out' },
  ]);
});

const HUMAN = { type: 'human', content: 'Hi' };
const AI = { type: 'ai', content: 'Hello.', tool_calls: [] };

test('an import reads the messages of a LangSmith run, and of graph states of which the last has no messages', () => {
  const [run] = readDocument({ id: 'run-1', inputs: { messages: [HUMAN] }, outputs: { messages: [HUMAN, AI] } });
  const [states] = readDocument([
    { values: { messages: [HUMAN] } },
    { values: { messages: [HUMAN, AI] } },
    { values: { __interrupt__: [] } },
  ]);
  for (const read of [run, states]) {
    expect(read?.format).toBe('langchain');
    expect(outline(read?.messages ?? [])).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
    ]);
  }
});

test('an import that refuses a message on a line of its own names the line', () => {
  expect(() =>
    readLines(
      { role: 'user', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: [{ type: 'toString' }] },
    ),
  ).toThrow(expect.objectContaining({ code: 'invalid_input', field: 'line 3.content[0].type' }));
});
