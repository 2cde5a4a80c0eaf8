import { describe, expect, test } from 'vitest';
import { validateAnthropic } from '../synchronous-formats.ts';
import { type BrokenCase, garbage, nameViolations } from './malformed-bodies.ts';

const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ...more });
const use = (id: string, input: unknown = {}, name = 'read') => ({ type: 'tool_use', id, name, input });
const result = (id: string, content: unknown = 'found', more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
const thinking = { type: 'thinking', thinking: '', signature: 'signed=' };
const redacted = { type: 'redacted_thinking', data: 'sealed=' };
const compaction = { type: 'compaction', content: 'what was said', encrypted_content: 'sealed=' };
const user = (...content: unknown[]) => ({ role: 'user', content });
const says = (...content: unknown[]) => ({ role: 'assistant', content });
const ask = user(text('Read it.'));
const mark = { cache_control: { type: 'ephemeral' } };
const tools = [{ name: 'read', input_schema: { type: 'object' } }];
const loop = [ask, says(thinking, use('a'), use('b')), user(result('a'), result('b', [text('found')]))];

function request(messages: unknown, more: object = {}): unknown {
  return { model: 'm', max_tokens: 4_096, tools, messages, ...more };
}

test.each([
  ['content as a plain string', request([{ role: 'user', content: 'Hi.' }], { system: 'Be brief.' })],
  ['an unfinished tool loop with thinking', request(loop, { thinking: { type: 'enabled', budget_tokens: 1024 } })],
  ['redacted thinking', request([ask, says(redacted, use('a')), user(result('a', undefined), text('And?'))])],
  [
    'a tool loop without thinking while thinking is `adaptive`',
    request([ask, says(use('a')), user(result('a'))], { thinking: { type: 'adaptive' } }),
  ],
  [
    'an earlier tool loop without thinking',
    request([ask, says(use('a')), user(result('a')), says(text('Done.')), ask], { thinking: { type: 'enabled' } }),
  ],
  [
    'text after tool results, and a picture in a result',
    request([
      ask,
      says(text('Well'), use('a')),
      user(result('a', [{ type: 'image', source: {} }], { is_error: false }), text('And?')),
    ]),
  ],
  [
    'four cache breakpoints',
    request([user(text('a', mark)), says(text('b')), user(text('c', mark))], {
      system: [text('d', mark)],
      tools: [{ ...tools[0], ...mark }],
    }),
  ],
  ['a compaction in place of the first user message', request([says(compaction, use('a')), user(result('a'))])],
  [
    'the provider’s tools',
    request([
      ask,
      says(
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        text('So.'),
      ),
      ask,
    ]),
  ],
  [
    'an invented and undescribed tool name in the current tool loop',
    request([ask, says(thinking, use('a')), user(result('a')), says(use('b', {}, 'write')), user(result('b'))]),
  ],
  ['a block of an unknown type', request([user(text('Look.'), { type: 'hologram', id: 'h' })])],
])('the Anthropic validator accepts a request with %s', (_, body) => {
  expect(validateAnthropic(body)).toStrictEqual([]);
});

const broken: BrokenCase[] = [
  [
    'X1: two tool calls with one id',
    request([ask, says(use('a')), user(result('a')), says(use('a')), user(result('a'))]),
    ['X1 messages[3].content[0]', 'X1 messages[4].content[0]', 'A5 messages[4].content[0]'],
  ],
  [
    'X1: a tool call without a result',
    request([ask, says(use('a')), user(text('And?'))]),
    ['X1 messages[1].content[0]', 'A4 messages[1].content[0]'],
  ],
  [
    'X1: a tool result without a call',
    request([ask, says(text('b')), user(result('a'), text('And?'))]),
    ['X1 messages[2].content[0]', 'A4 messages[2].content[0]'],
  ],
  [
    'X1: a tool result before its call',
    request([user(result('a'), text('x')), says(use('a')), ask]),
    ['X1 messages[0].content[0]', 'A4 messages[1].content[0]', 'A4 messages[0].content[0]'],
  ],
  [
    'X2: results for only half of the parallel calls',
    request([ask, says(use('a'), use('b')), user(result('b'))]),
    ['X1 messages[1].content[0]', 'X2 messages[1].content[0]', 'X4 messages[2]', 'A4 messages[1].content[0]'],
  ],
  ['X3: a blank text', request([user(text(' \n'))]), ['X3 messages[0].content[0]', 'A6 messages[0].content[0]']],
  ['X3: an empty list of content', request([ask, says(), ask]), ['X3 messages[1].content']],
  [
    'X3: an empty list in a result',
    request([ask, says(use('a')), user(result('a', []))]),
    ['X3 messages[2].content[0].content'],
  ],
  [
    'X3: a blank text in a result',
    request([ask, says(use('a')), user(result('a', ' '))]),
    ['X3 messages[2].content[0].content', 'A6 messages[2].content[0].content'],
  ],
  ['X3: a blank system prompt', request([ask], { system: ' ' }), ['X3 system', 'A6 system']],
  ['X4: an assistant message at the end', request([ask, says(text('Done.'))]), ['X4 messages[1]']],
  ['X5: an empty list of messages', request([]), ['X5']],
  ['X5: an assistant message at the start', request([says(text('Hi.')), ask]), ['X5 messages[0]', 'A2 messages[0]']],
  [
    'X6: a call of a tool with an illegal name that is not in tools',
    request([ask, says(use('a', {}, 'write file')), user(result('a')), says(text('Done.')), ask]),
    ['X6 messages[1].content[0]'],
  ],
  [
    'X6: a tool call without any described tools',
    request([ask, says(use('a')), user(result('a'))], { tools: undefined }),
    ['X6 messages[1].content[0]'],
  ],
  ['X6: a tool that is described twice', request([ask], { tools: [...tools, ...tools] }), ['X6 tools[1]']],
  [
    'X7: arguments that are not an object',
    request([ask, says(use('a', [1])), user(result('a'))]),
    ['X7 messages[1].content[0]'],
  ],
  ['X7: arguments as text', request([ask, says(use('a', '{}')), user(result('a'))]), ['X7 messages[1].content[0]']],
  ['X8: a text with half of a surrogate pair', request([user(text('cut \ud83d'))]), ['X8 messages[0].content[0].text']],
  [
    'X8: half of a surrogate pair deep in the arguments',
    request([ask, says(use('a', { list: [{ '\ude00': 1 }] })), user(result('a'))]),
    ['X8 messages[1].content[0].input'],
  ],
  [
    'X11: a summary in the system prompt',
    request([ask], { system: [text('Be brief.'), text('<summary messages="1-9">\nA record.\n</summary>')] }),
    ['X11 system[1]'],
  ],
  [
    'X11: a summary in an assistant message at the start',
    request([says(text('<summary version="3" messages="1-9">\n…')), ask]),
    ['X5 messages[0]', 'X11 messages[0].content[0]', 'A2 messages[0]'],
  ],
  [
    'A1: a message with the role system',
    request([ask, { role: 'system', content: 'Be brief.' }, ask]),
    ['A1 messages[1]'],
  ],
  ['A3: two messages of one role in a row', request([ask, ask]), ['A3 messages[1]']],
  [
    'A4: text before the results',
    request([ask, says(use('a')), user(text('Here:'), result('a'))]),
    ['A4 messages[2].content[1]'],
  ],
  [
    'A4: tool results one message too late',
    request([ask, says(use('a')), ask, says(text('b')), user(result('a'))]),
    ['A4 messages[1].content[0]', 'A4 messages[4].content[0]'],
  ],
  [
    'A5: two results for one call',
    request([ask, says(use('a')), user(result('a'), result('a'))]),
    ['X1 messages[2].content[1]', 'A5 messages[2].content[1]'],
  ],
  [
    'A5: a tool call id with illegal characters',
    request([ask, says(use('call:1')), user(result('call:1'))]),
    ['A5 messages[1].content[0]', 'A5 messages[2].content[0]'],
  ],
  [
    'A6: an empty text',
    request([user(text('Hi.'), text(''))]),
    ['X3 messages[0].content[1]', 'A6 messages[0].content[1]'],
  ],
  [
    'A6: white space at the end of the final answer',
    request([ask, says(text('Well, '))]),
    ['X4 messages[1]', 'A6 messages[1].content[0]'],
  ],
  [
    'A7: thinking without a signature',
    request([ask, says({ type: 'thinking', thinking: 'hm' }, text('Done.')), ask]),
    ['A7 messages[1].content[0]'],
  ],
  [
    'A7: redacted thinking without data',
    request([ask, says({ type: 'redacted_thinking' }, text('Done.')), ask]),
    ['A7 messages[1].content[0]'],
  ],
  [
    'A7: a tool loop that lost its thinking',
    request([ask, says(use('a')), user(result('a'))], { thinking: { type: 'enabled' } }),
    ['A7 messages[1].content[0]'],
  ],
  [
    'A7: thinking after a call in a tool loop that text after results does not end',
    request([ask, says(use('a'), thinking, text('Well.')), user(result('a'), text('And?'))], {
      thinking: { type: 'enabled' },
    }),
    ['A7 messages[1].content[0]'],
  ],
  ['A7: a message that ends with thinking', request([ask, says(redacted), ask]), ['A7 messages[1].content[0]']],
  [
    'A7: thinking that is not the first block, whether thinking is on or off',
    request([ask, says(text('Well.'), thinking, text('Done.')), ask]),
    ['A7 messages[1].content[0]'],
  ],
  [
    'A9: five cache breakpoints',
    request([user(...'abcde'.split('').map((said) => text(said, mark)))]),
    ['A9 messages[0].content[4]'],
  ],
  [
    'A9: a cache breakpoint on a blank text',
    request([user(text('Hi.'), text(' ', mark))]),
    ['X3 messages[0].content[1]', 'A6 messages[0].content[1]', 'A9 messages[0].content[1]'],
  ],
  [
    'A9: a cache breakpoint on thinking',
    request([ask, says({ ...thinking, ...mark }, text('Done.')), ask]),
    ['A9 messages[1].content[0]'],
  ],
  [
    'A10: a compaction in the middle of the messages',
    request([ask, says(compaction, text('Done.')), ask]),
    ['A10 messages[1].content[0]'],
  ],
  ['A10: two compactions', request([says(compaction), ask, says(compaction), ask]), ['A10 messages[2].content[0]']],
  [
    'A11: a provider’s call whose result is in another turn',
    request([
      ask,
      says({ type: 'server_tool_use', id: 's' }),
      ask,
      says({ type: 'web_search_tool_result', tool_use_id: 's' }),
      ask,
    ]),
    ['A11 messages[1].content[0]', 'A11 messages[3].content[0]'],
  ],
  [
    'A12: an error flag that is not a boolean',
    request([ask, says(use('a')), user(result('a', 'no', { is_error: 'yes' }))]),
    ['A12 messages[2].content[0]'],
  ],
  [
    'A12: a picture in the result of a failed tool call',
    request([ask, says(use('a')), user(result('a', [text('no'), { type: 'image', source: {} }], { is_error: true }))]),
    ['A12 messages[2].content[0]'],
  ],
  [
    'form: a tool call in a user message',
    request([user(use('a'))]),
    ['form messages[0].content[0]', 'X1 messages[0].content[0]', 'A4 messages[0].content[0]'],
  ],
  ['form: a block without its text', request([user(text('Hi.'), { type: 'text' })]), ['form messages[0].content[1]']],
];

test.each([
  [[ask, { role: 'system', content: 'Be brief.' }, says(text('Yes.')), ask], []],
  [[ask, { role: 'system', content: 'Be brief.' }], []],
  [[ask, { role: 'system', content: 'Be brief.' }, ask], ['A1 messages[1]']],
  [[{ role: 'system', content: 'Be brief.' }, ask], ['A1 messages[0]']],
])(
  'the Anthropic validator reports rule A1 for a misplaced later system message, if the model accepts later system messages',
  (messages, expected) => {
    expect(nameViolations(validateAnthropic(request(messages), { habits: { takesLaterSystem: true } }))).toEqual(
      expected,
    );
  },
);

test.each(broken)('the Anthropic validator reports rule %s', (_, body, expected) => {
  expect(nameViolations(validateAnthropic(body))).toStrictEqual(expected);
});

test('the Anthropic validator reports every malformed body and never throws', () => {
  for (const body of garbage('messages')) expect(validateAnthropic(body)).not.toStrictEqual([]);
});

describe('a request that is checked before a commit, with an added user message', () => {
  const probe = user(result('a'), text('Go on.'));
  const open = says(use('a'), use('b'));

  test('the Anthropic validator accepts missing results of the last tool round in a check before a commit, but not in a sent request', () => {
    const body = request([ask, open, probe]);
    expect(validateAnthropic(body, { isProbed: true })).toStrictEqual([]);
    expect(nameViolations(validateAnthropic(body))).toStrictEqual([
      'X1 messages[1].content[1]',
      'X2 messages[1].content[1]',
      'A4 messages[1].content[1]',
    ]);
  });

  test('the Anthropic validator reports missing results of an earlier tool round, even in a check before a commit', () => {
    const body = request([ask, open, user(result('a')), says(use('c')), user(result('c'), text('Go on.'))]);
    expect(nameViolations(validateAnthropic(body, { isProbed: true }))).toStrictEqual([
      'X1 messages[1].content[1]',
      'X2 messages[1].content[1]',
      'A4 messages[1].content[1]',
    ]);
  });

  test('the Anthropic validator accepts any last message in a check before a commit', () => {
    const body = request([ask, says(text('<summary messages="1-2">\nWell, '))]);
    expect(validateAnthropic(body, { isProbed: true })).toStrictEqual([]);
    expect(nameViolations(validateAnthropic(body))).toStrictEqual([
      'X4 messages[1]',
      'X11 messages[1].content[0]',
      'A6 messages[1].content[0]',
    ]);
  });
});

describe('limits of an Anthropic request (wire rule X9)', () => {
  const body = request([user(text('é'.repeat(100)))]);
  const bytes = Buffer.byteLength(JSON.stringify(body));

  test.each([
    [{ tokens: 10, usableTokens: 10, maxBytes: bytes }, []],
    [{ tokens: 11, usableTokens: 10 }, ['X9']],
    [{ maxBytes: bytes - 1 }, ['X9']],
    [{ tokens: 11 }, []],
  ])('the Anthropic validator checks a request against the limits %j (wire rule X9)', (context, expected) => {
    expect(nameViolations(validateAnthropic(body, context))).toStrictEqual(expected);
  });
});

test.each([
  [1_024, 4_096, []],
  [1_023, 4_096, ['A7 thinking.budget_tokens']],
  [4_096, 4_096, ['A7 thinking.budget_tokens']],
])(
  'a thinking budget of %i tokens with an output limit of %i tokens breaks the rules %j (wire rule A7)',
  (budget_tokens, max_tokens, expected) => {
    const body = request([ask], { max_tokens, thinking: { type: 'enabled', budget_tokens } });
    expect(nameViolations(validateAnthropic(body))).toStrictEqual(expected);
  },
);

test('an Anthropic request with a tool call id of more than 64 characters breaks wire rule A5', () => {
  const long = 'a'.repeat(65);
  expect(nameViolations(validateAnthropic(request([ask, says(use(long)), user(result(long))])))).toStrictEqual([
    'A5 messages[1].content[0]',
    'A5 messages[2].content[0]',
  ]);
});

test('the violations that the Anthropic validator reports quote no contents of the request', () => {
  const told = broken.flatMap(([, body]) => validateAnthropic(body).map(({ message }) => message)).join();
  for (const content of ['Read it', 'found', 'Done', 'call:1', 'cut', 'Hi.']) expect(told).not.toContain(content);
});
