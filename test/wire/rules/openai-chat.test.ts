import { describe, expect, test } from 'vitest';
import { validateChat } from '../synchronous-formats.ts';
import { type BrokenCase, garbage, nameViolations } from './malformed-bodies.ts';

const system = { role: 'system', content: 'Be brief.' };
const ask = { role: 'user', content: 'Read it.' };
const call = (id: string, given: unknown = '{}', name = 'read') => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});
const calls = (...tool_calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls });
const says = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more });
const result = (id: string, content: unknown = 'found') => ({ role: 'tool', tool_call_id: id, content });
const picture = { type: 'image_url', image_url: { url: 'https://images.example/1.png' } };
const tools = [{ type: 'function', function: { name: 'read' } }];

function request(messages: unknown, more: object = {}): unknown {
  return { model: 'm', tools, messages, ...more };
}

test.each([
  ['one user message', request([ask], { tools: undefined })],
  ['system and developer messages first', request([system, { role: 'developer', content: 'Be kind.' }, ask])],
  ['a complete tool round', request([ask, calls(call('a'), call('b')), result('b'), result('a')])],
  [
    'tool calls beside text',
    request([ask, says('Well:', { tool_calls: [call('a')] }), result('a', [{ type: 'text', text: 'b' }]), ask]),
  ],
  [
    'tool calls without the field `content`',
    request([ask, { role: 'assistant', tool_calls: [call('a')] }, result('a')]),
  ],
  [
    'null in place of absent fields',
    request([ask, says('Hi.', { tool_calls: null, reasoning_content: null, refusal: null }), ask]),
  ],
  ['pictures in a user message', request([{ role: 'user', content: [picture, { type: 'text', text: 'Look.' }] }])],
  [
    'reasoning in the current tool loop, with a picture of a tool result',
    request([
      ask,
      says(null, { tool_calls: [call('a')], reasoning_content: 'hm' }),
      result('a'),
      { role: 'user', content: [picture] },
    ]),
  ],
  [
    'a call of a tool that takes free text',
    request([ask, calls({ id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } }), result('a')], {
      tools: [{ type: 'custom', custom: { name: 'sql' } }],
    }),
  ],
  ['an answer in which the model refuses', request([ask, says([{ type: 'refusal', refusal: 'No.' }]), ask])],
])('the Chat Completions validator accepts a request with %s', (_, body) => {
  expect(validateChat(body)).toStrictEqual([]);
});

const broken: BrokenCase[] = [
  [
    'X1: two tool calls with one id',
    request([ask, calls(call('a'), call('a')), result('a')]),
    ['X1 messages[1].tool_calls[1]'],
  ],
  [
    'X1: a tool call without a result',
    request([ask, calls(call('a')), ask]),
    ['X1 messages[1].tool_calls[0]', 'C1 messages[1].tool_calls[0]'],
  ],
  [
    'X1: a tool result without a call',
    request([ask, says('Hi.'), result('a'), ask]),
    ['X1 messages[2]', 'C2 messages[2]'],
  ],
  [
    'X1: a tool call id that is too long',
    request([ask, calls(call('a'.repeat(41))), result('a'.repeat(41))]),
    ['X1 messages[1].tool_calls[0]'],
  ],
  ['X1: a tool call with two results', request([ask, calls(call('a')), result('a'), result('a')]), ['X1 messages[3]']],
  [
    'X2: results for only half of the parallel calls',
    request([ask, calls(call('a'), call('b')), result('a')]),
    ['X1 messages[1].tool_calls[1]', 'X2 messages[1].tool_calls[1]', 'X4 messages[2]', 'C1 messages[1].tool_calls[1]'],
  ],
  ['X3: a blank text', request([ask, says(' '), ask]), ['X3 messages[1].content']],
  [
    'X3: a blank content part',
    request([{ role: 'user', content: [{ type: 'text', text: '' }] }]),
    ['X3 messages[0].content[0]'],
  ],
  ['X3: an empty list of content', request([{ role: 'user', content: [] }]), ['X3 messages[0].content']],
  ['X3: an empty list of calls', request([ask, says('Hi.', { tool_calls: [] }), ask]), ['X3 messages[1].tool_calls']],
  ['X3: an empty list of tools', request([ask], { tools: [] }), ['X3 tools']],
  ['X4: an assistant message at the end', request([ask, says('Hi.')]), ['X4 messages[1]']],
  ['X5: only a system message', request([system]), ['X5']],
  ['X5: an assistant message at the start', request([system, says('Hi.'), ask]), ['X5 messages[1]']],
  [
    'X6: a call of a tool with an illegal name that is not in tools',
    request([ask, calls(call('a', '{}', 'write file')), result('a')]),
    ['X6 messages[1].tool_calls[0]'],
  ],
  [
    'X7: arguments that were cut off',
    request([ask, calls(call('a', '{"path": "src')), result('a')]),
    ['X7 messages[1].tool_calls[0]'],
  ],
  [
    'X7: arguments that are not an object',
    request([ask, calls(call('a', 'null')), result('a')]),
    ['X7 messages[1].tool_calls[0]'],
  ],
  [
    'X8: a text with half of a surrogate pair',
    request([{ role: 'user', content: '\ud83d' }]),
    ['X8 messages[0].content'],
  ],
  [
    'X11: a summary in a system message',
    request([{ role: 'system', content: '<summary messages="1-9">' }, ask]),
    ['X11 messages[0].content'],
  ],
  [
    'C1: a message between a call and its result',
    request([ask, calls(call('a')), ask, result('a')]),
    ['C1 messages[1].tool_calls[0]'],
  ],
  [
    'C1: a user message between tool results',
    request([ask, calls(call('a')), result('a'), ask, calls(call('b'), call('c')), result('b'), ask, result('c')]),
    ['C1 messages[4].tool_calls[1]'],
  ],
  [
    'C2: a tool result of an earlier tool round',
    request([ask, calls(call('a')), calls(call('b')), result('b'), result('a')]),
    ['C1 messages[1].tool_calls[0]', 'C2 messages[4]'],
  ],
  ['C3: a message with neither content nor tool calls', request([ask, says(null), ask]), ['C3 messages[1]']],
  [
    'C4: arguments as an object instead of a string',
    request([ask, calls(call('a', {})), result('a')]),
    ['C4 messages[1].tool_calls[0]'],
  ],
  [
    'C6: a picture in a tool result',
    request([ask, calls(call('a')), result('a', [picture])]),
    ['C6 messages[2].content[0]'],
  ],
  [
    'C7: reasoning of an earlier turn',
    request([ask, says('Hi.', { reasoning_content: 'hm' }), ask]),
    ['C7 messages[1]'],
  ],
  [
    'C7: reasoning that is not a string',
    request([ask, says(null, { tool_calls: [call('a')], reasoning_content: {} }), result('a')]),
    ['C7 messages[1]'],
  ],
  ['form: a tool result without an id', request([ask, { role: 'tool', content: 'found' }, ask]), ['form messages[1]']],
  [
    'form: tool calls in a user message',
    request([{ ...ask, tool_calls: [call('a')] }]),
    ['form messages[0].tool_calls'],
  ],
  ['form: a tool call without a name', request([ask, calls({ id: 'a' }), ask]), ['form messages[1].tool_calls[0]']],
  ['form: an unknown role', request([{ role: 'robot', content: 'Hi.' }, ask]), ['form messages[0].role']],
];

test('the Chat Completions validator reports rule C5 for a later system message, if the server takes system messages only first', () => {
  const body = request([ask, system, ask]);
  expect(validateChat(body)).toEqual([]);
  for (const context of [{ habits: { takesLaterSystem: false } }, { hasStrictTemplate: true }])
    expect(nameViolations(validateChat(body, context))).toContain('C5 messages[1]');
});

test.each(broken)('the Chat Completions validator reports rule %s', (_, body, expected) => {
  expect(nameViolations(validateChat(body))).toStrictEqual(expected);
});

test('the Chat Completions validator requires alternating user and assistant messages for a strict chat template (wire rule C5)', () => {
  const body = request([system, ask, ask, says('Hi.'), says('Well?'), ask]);
  expect(nameViolations(validateChat(body, { hasStrictTemplate: true }))).toStrictEqual([
    'C5 messages[2]',
    'C5 messages[4]',
  ]);
  expect(validateChat(body)).toStrictEqual([]);
});

test('the Chat Completions validator reports every malformed body and never throws', () => {
  for (const body of garbage('messages')) expect(validateChat(body, { maxBytes: 1e6 })).not.toStrictEqual([]);
});

describe('a request that is checked before a commit, with an added user message', () => {
  test('the Chat Completions validator accepts missing results of the last tool round in a check before a commit, but not in a sent request', () => {
    const body = request([ask, calls(call('a'), call('b')), result('a'), ask]);
    expect(validateChat(body, { isProbed: true })).toStrictEqual([]);
    expect(nameViolations(validateChat(body))).toStrictEqual([
      'X1 messages[1].tool_calls[1]',
      'X2 messages[1].tool_calls[1]',
      'C1 messages[1].tool_calls[1]',
    ]);
  });

  test('the Chat Completions validator reports a misplaced result in the unfinished tool round, even in a check before a commit (wire rule C1)', () => {
    const body = request([ask, calls(call('a')), ask, result('a')]);
    expect(nameViolations(validateChat(body, { isProbed: true }))).toStrictEqual(['C1 messages[1].tool_calls[0]']);
  });

  test('the Chat Completions validator reports missing results of an earlier tool round, even in a check before a commit', () => {
    const body = request([ask, calls(call('a')), says('Hi.'), ask]);
    expect(nameViolations(validateChat(body, { isProbed: true }))).toStrictEqual([
      'X1 messages[1].tool_calls[0]',
      'C1 messages[1].tool_calls[0]',
    ]);
  });
});

test('the Chat Completions validator applies OpenAI’s limits on messages and tools, unless the provider is unknown (wire rule X9)', () => {
  const talk = Array.from({ length: 2_049 }, () => ask);
  const many = Array.from({ length: 129 }, (_, index) => ({ type: 'function', function: { name: `read_${index}` } }));
  expect(nameViolations(validateChat(request(talk.slice(1))))).toStrictEqual([]);
  expect(nameViolations(validateChat(request(talk)))).toStrictEqual(['X9']);
  expect(nameViolations(validateChat(request([ask], { tools: many })))).toStrictEqual(['X9']);
  expect(validateChat(request(talk, { tools: many }), { isUncapped: true })).toStrictEqual([]);
});

test.each(['files.read', 'read all', '', 'x'.repeat(65)])(
  'a Chat Completions request with a tool named "%s" breaks wire rule X6',
  (name) => {
    const body = request([ask], { tools: [{ type: 'function', function: { name } }] });
    expect(nameViolations(validateChat(body))).toStrictEqual(['X6 tools[0]']);
  },
);

test('a user message directly after tool results breaks wire rule C5 only if the chat template is strict and no result is missing', () => {
  const check = (messages: unknown[], isProbed = false) =>
    nameViolations(validateChat(request(messages), { hasStrictTemplate: true, isProbed }));
  const round = [ask, calls(call('a'), call('b')), result('a'), result('b')];
  expect(check([...round, ask])).toStrictEqual(['C5 messages[4]']);
  expect(check([...round, says('Noted.'), ask])).toStrictEqual([]);
  expect(check([ask, says('Hi.'), ask], true)).toStrictEqual([]);
  expect(check([...round.slice(0, 2), ask], true)).toStrictEqual([]);
});

test.each(['reasoning_content', 'reasoning', 'reasoning_details'])(
  'a Chat Completions request with %s of an earlier turn breaks wire rule C7',
  (field) => {
    const body = request([ask, says('Done.', { [field]: field.endsWith('s') ? [{}] : 'hm' }), ask]);
    expect(nameViolations(validateChat(body))).toStrictEqual(['C7 messages[1]']);
  },
);
