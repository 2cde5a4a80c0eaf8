import { expect, test } from 'vitest';
import { validateResponses } from '../synchronous-formats.ts';
import { type BrokenCase, garbage, nameViolations } from './malformed-bodies.ts';

const ask = { role: 'user', content: 'Read it.' };
const says = (said: string, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: said }],
  ...more,
});
const call = (call_id: string, more: object = {}) => ({
  type: 'function_call',
  call_id,
  name: 'read',
  arguments: '{}',
  ...more,
});
const output = (call_id: string, said: unknown = 'found') => ({ type: 'function_call_output', call_id, output: said });
const reasoning = (id: string, more: object = {}) => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: 'sealed=',
  ...more,
});
const compaction = { type: 'compaction', encrypted_content: 'sealed=' };
const tools = [{ type: 'function', name: 'read', parameters: {} }];

function request(input: unknown, more: object = {}): unknown {
  return { model: 'm', store: false, tools, input, ...more };
}

test.each([
  ['a string as input', request('Hi.')],
  ['one user message', request([ask], { instructions: 'Be brief.', tools: undefined })],
  ['a developer message in the middle', request([ask, says('Hi.'), { role: 'developer', content: 'Be kind.' }, ask])],
  [
    'an answer with two tool calls',
    request([
      ask,
      reasoning('rs_1'),
      call('a', { id: 'fc_1' }),
      call('b', { id: 'fc_2' }),
      output('b'),
      output('a', [{ type: 'input_text', text: 'found' }, { type: 'input_image' }]),
    ]),
  ],
  [
    'alternating tool calls and outputs',
    request([
      ask,
      reasoning('rs_1'),
      call('a', { id: 'fc_1' }),
      output('a'),
      call('b'),
      output('b'),
      says('Done.'),
      ask,
    ]),
  ],
  ['server’s ids where no model reasons', request([ask, says('Done.', { id: 'msg_1' }), ask])],
  ['a compaction as first item', request([compaction, says('Done.'), ask])],
  [
    'a provider’s tool, which holds its outcome',
    request([ask, { type: 'web_search_call', id: 'ws_1', status: 'completed' }, says('So.'), ask]),
  ],
  [
    'a call of a tool that takes free text',
    request(
      [
        ask,
        { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: 'select 1' },
        { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
      ],
      { tools: [{ type: 'namespace', name: 'db', tools: [{ type: 'custom', name: 'sql' }] }] },
    ),
  ],
  [
    'a call of a type that has no name',
    request([
      ask,
      { type: 'local_shell_call', call_id: 'a', action: {} },
      { type: 'local_shell_call_output', call_id: 'a', output: '' },
    ]),
  ],
  [
    'reasoning that is not encrypted',
    request([
      ask,
      reasoning('rs_1', { encrypted_content: null, content: [{ type: 'reasoning_text', text: 'hm' }] }),
      says('Done.', { id: 'msg_1' }),
      ask,
    ]),
  ],
])('the Responses API validator accepts a request with %s', (_, body) => {
  expect(validateResponses(body)).toStrictEqual([]);
});

const broken: BrokenCase[] = [
  ['X1, R1: a tool call without an output', request([ask, call('a'), ask]), ['X1 input[1]', 'R1 input[1]']],
  [
    'X1, R1: a tool output without a call',
    request([ask, says('Hi.'), output('a'), ask]),
    ['X1 input[2]', 'R1 input[2]'],
  ],
  [
    'X1, R1: a tool output before its call',
    request([ask, output('a'), call('a'), ask]),
    ['X1 input[1]', 'R1 input[1]'],
  ],
  ['X1: two tool calls with one id', request([ask, call('a'), call('a'), output('a')]), ['X1 input[2]']],
  ['X1: a tool call with two outputs', request([ask, call('a'), output('a'), output('a')]), ['X1 input[3]']],
  [
    'X1: a tool call id that is too long',
    request([ask, call('a'.repeat(65)), output('a'.repeat(65))]),
    ['X1 input[1]'],
  ],
  [
    'X2: outputs for only half of the parallel calls',
    request([ask, call('a'), call('b'), output('b')]),
    ['X1 input[1]', 'X2 input[1]', 'X4 input[3]', 'R1 input[1]'],
  ],
  ['X3: a blank text', request([ask, says(' '), ask]), ['X3 input[1].content[0]']],
  ['X3: a blank input', request(' '), ['X3 input']],
  ['X3: blank `instructions`', request([ask], { instructions: '' }), ['X3 instructions']],
  ['X3: an empty tool output', request([ask, call('a'), output('a', '')]), ['X3 input[2].output']],
  ['X3: an empty list of content', request([{ role: 'user', content: [] }]), ['X3 input[0].content']],
  ['X4: an assistant message at the end', request([ask, says('Hi.')]), ['X4 input[1]']],
  ['X5: an empty input', request([]), ['X5']],
  ['X5: an assistant message at the start', request([says('Hi.'), ask]), ['X5 input[0]']],
  [
    'X6: a call of a tool with an illegal name that is not in tools',
    request([ask, call('a', { name: 'write file' }), output('a')]),
    ['X6 input[1]'],
  ],
  ['X7: arguments that were cut off', request([ask, call('a', { arguments: '{"path' }), output('a')]), ['X7 input[1]']],
  [
    'X7: arguments as an object instead of a string',
    request([ask, call('a', { arguments: {} }), output('a')]),
    ['X7 input[1]'],
  ],
  [
    'X8: a text with half of a surrogate pair',
    request([ask, call('a'), output('a', '\udc00')]),
    ['X8 input[2].output'],
  ],
  [
    'X11: a summary in `instructions`',
    request([ask], { instructions: '<summary messages="1-2">' }),
    ['X11 instructions'],
  ],
  [
    'R1: a tool output whose type does not match its call',
    request([ask, call('a'), { type: 'custom_tool_call_output', call_id: 'a', output: '1' }]),
    ['R1 input[2]'],
  ],
  ['R2: reasoning whose tool call is missing', request([ask, reasoning('rs_1'), ask]), ['R2 input[1]']],
  ['R2: reasoning at the end', request([ask, says('Hi.'), ask, reasoning('rs_1')]), ['X4 input[3]', 'R2 input[3]']],
  [
    'R3: a tool call with an id but without its reasoning',
    request([ask, reasoning('rs_1'), call('a', { id: 'fc_1' }), output('a'), call('b', { id: 'fc_2' }), output('b')]),
    ['R3 input[4]'],
  ],
  [
    'R3: items with ids but no reasoning in the whole input',
    request([ask, call('a', { id: 'fc_1' }), output('a')], { reasoning: { effort: 'low' } }),
    ['R3 input[1]'],
  ],
  [
    'R2: reasoning before the message of another answer',
    request([ask, reasoning('rs_1'), { role: 'assistant', content: 'Hi.' }, ask]),
    ['R2 input[1]'],
  ],
  [
    'R4: a reasoning item directly before another',
    request([ask, reasoning('rs_1'), reasoning('rs_2'), says('Hi.', { id: 'msg_1' }), ask]),
    ['R4 input[1]'],
  ],
  ['R5: a message between a call and its output', request([ask, call('a'), ask, output('a')]), ['R5 input[3]']],
  [
    'R6: reasoning with empty encrypted_content',
    request([ask, reasoning('rs_1', { encrypted_content: '' }), says('Hi.', { id: 'msg_1' }), ask]),
    ['R6 input[1]'],
  ],
  [
    'R6: reasoning referred to by its id while store is false',
    request([ask, reasoning('rs_1', { encrypted_content: null }), says('Hi.', { id: 'msg_1' }), ask]),
    ['R6 input[1]'],
  ],
  [
    'R7: a reference to an earlier response',
    request([ask], { previous_response_id: 'resp_1' }),
    ['R7 previous_response_id'],
  ],
  ['R7: a reference to a stored conversation', request([ask], { conversation: { id: 'conv_1' } }), ['R7 conversation']],
  ['R8: a compaction without its encrypted content', request([{ type: 'compaction' }, ask]), ['R8 input[0]']],
  [
    'R8: a compaction between a call and its output',
    request([ask, call('a'), compaction, output('a')]),
    ['R8 input[2]'],
  ],
  [
    'R9: two items with one id',
    request([ask, says('Hi.', { id: 'msg_1' }), ask, says('Hi.', { id: 'msg_1' }), ask]),
    ['R9 input[3]'],
  ],
  ['form: an item with neither type nor role', request([ask, { content: 'Hi.' }]), ['form input[1]']],
  [
    'form: reasoning without the field `summary`',
    request([ask, reasoning('rs_1', { summary: undefined }), says('Hi.', { id: 'msg_1' }), ask]),
    ['form input[1]'],
  ],
  [
    'form: a text part without text',
    request([{ role: 'user', content: [{ type: 'input_text' }] }]),
    ['form input[0].content[0]'],
  ],
  [
    'form: a tool output without call_id',
    request([ask, { type: 'function_call_output', output: '1' }]),
    ['form input[1]'],
  ],
  [
    'form: a tool call without a name',
    request([ask, call('a', { name: undefined }), output('a')]),
    ['form input[1]', 'X6 input[1]'],
  ],
];

test.each(broken)('the Responses API validator reports rule %s', (_, body, expected) => {
  expect(nameViolations(validateResponses(body))).toStrictEqual(expected);
});

test('the Responses API validator reports every malformed body and never throws', () => {
  for (const body of garbage('input')) expect(validateResponses(body, { maxBytes: 1e6 })).not.toStrictEqual([]);
});

test('the Responses API validator accepts missing tool outputs of the last answer in a check before a commit, but not those of an earlier answer', () => {
  const body = (between: unknown[]) => request([ask, call('a'), call('b'), output('a'), ...between, ask]);
  expect(validateResponses(body([]), { isProbed: true })).toStrictEqual([]);
  expect(nameViolations(validateResponses(body([])))).toStrictEqual(['X1 input[2]', 'X2 input[2]', 'R1 input[2]']);
  expect(nameViolations(validateResponses(body([says('Hi.')]), { isProbed: true }))).toStrictEqual([
    'X1 input[2]',
    'X2 input[2]',
    'R1 input[2]',
  ]);
});
