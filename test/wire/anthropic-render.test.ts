import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { AnthropicBody } from '../../src/wire/anthropic/body.ts';
import type { AnthropicOptions } from '../../src/wire/anthropic/render.ts';
import { FIRST_TEXT } from '../../src/wire/arrange.ts';
import { EMPTY_TEXT } from '../../src/wire/parts.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { PIXEL } from '../fakes/contents.ts';
import { calls, result, says, user } from './messages.ts';
import { renderAnthropic } from './synchronous-formats.ts';

const MODEL = 'model-1';
const ADAPTIVE = { type: 'adaptive' } as const;

const summary = (content: string, items?: Record<string, unknown>[]): Message => ({
  role: 'summary',
  content,
  summary: { from: 1, to: 9 },
  ...(items === undefined ? {} : { raw: { format: 'anthropic', model: MODEL, items } }),
});

const thinking = { type: 'thinking', thinking: 'hm', signature: 's=' };
const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: { path: 'a' } });
const text = (value: string) => ({ type: 'text', text: value });
const found = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: [text('found')] });
const own = (message: Message, items: Record<string, unknown>[], binding: object = {}): Message => ({
  ...message,
  raw: { format: 'anthropic', model: MODEL, ...binding, items },
});
const thoughtful = (id: string, binding: object = {}): Message => own(calls(id), [thinking, use(id)], binding);

function requestOf(messages: readonly Message[], more: Partial<WireRequest> = {}): WireRequest {
  const tools = [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } }];
  return { model: MODEL, system: '', tools, messages, maxOutputTokens: 4_096, ...more };
}

function render(
  messages: readonly Message[],
  options: AnthropicOptions = {},
  more: Partial<WireRequest> = {},
): AnthropicBody {
  return renderAnthropic(requestOf(messages, more), { hasCacheMarks: false, ...options }).body;
}

const told = (content: string): Message => ({ role: 'system', content });

test('the Anthropic request has the agent’s prompt and the first system messages in its parameter `system` (wire rule A1)', () => {
  const body = render([told('Use French.'), user('Hi'), says('Salut'), user('Go')], {}, { system: 'Be brief.' });
  expect(body.system).toEqual([text('Be brief.'), text('Use French.')]);
  expect(body.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(render([user('Hi')])).not.toHaveProperty('system');
});

test('the Anthropic request has a later system message in its place, as a marked text where the model does not accept a system message', () => {
  const history = [user('Hi'), told('Use French.'), told('Be kind.'), says('Salut'), told('Use German.'), user('Go')];
  const marked = (content: string) => text(`<system_message>\n${content}\n</system_message>`);
  expect(render(history).messages).toEqual([
    { role: 'user', content: [text('Hi'), marked('Use French.'), marked('Be kind.')] },
    { role: 'assistant', content: [text('Salut')] },
    { role: 'user', content: [marked('Use German.'), text('Go')] },
  ]);
  expect(render(history, { takesLaterSystem: true }).messages).toEqual([
    { role: 'user', content: [text('Hi')] },
    { role: 'system', content: [text('Use French.'), text('Be kind.')] },
    { role: 'assistant', content: [text('Salut')] },
    { role: 'user', content: [marked('Use German.'), text('Go')] },
  ]);
});

test('the Anthropic request starts with an added user message when the history starts with another role (wire rule A2)', () => {
  expect(render([says('Hello'), user('Hi')]).messages[0]).toEqual({ role: 'user', content: [text(FIRST_TEXT)] });
  expect(render([summary('Done.'), says('Hello'), user('Hi')]).messages).toHaveLength(3);
});

test('the Anthropic request has tool results and the user texts after them in one message, results first (wire rules A3, A4)', () => {
  const { messages } = render([user('Go'), calls('a', 'b'), user('Faster'), result('b'), result('a'), user('!')]);
  expect(messages).toEqual([
    { role: 'user', content: [text('Go')] },
    { role: 'assistant', content: [use('a'), use('b')] },
    { role: 'user', content: [found('b'), found('a'), text('Faster'), text('!')] },
  ]);
});

test('the Anthropic request replaces an illegal tool call id by the same legal id in the call and in its result (wire rule A5)', () => {
  const { messages } = render([user('Go'), calls('call:1'), result('call:1')]);
  expect(messages.slice(1)).toEqual([
    { role: 'assistant', content: [use('call_1_1')] },
    { role: 'user', content: [found('call_1_1')] },
  ]);
});

test('the Anthropic request has no blank text, and no white space at the end of the final answer (wire rule A6)', () => {
  const { messages } = render([user(' '), says('\n'), user('Go'), says('Well \n')]);
  expect(messages.map(({ content }) => content)).toEqual([
    [text(EMPTY_TEXT)],
    [text(EMPTY_TEXT)],
    [text('Go')],
    [text('Well')],
  ]);
  expect(render([says('Well \n'), user('Go')]).messages[1]?.content).toEqual([text('Well \n')]);
});

test('the Anthropic request sets `is_error` on the result of a failed tool call (wire rule A12)', () => {
  const { messages } = render([user('Go'), calls('a'), { ...result('a', ''), isError: true }]);
  expect(messages[2]?.content).toEqual([{ ...found('a'), content: [text(EMPTY_TEXT)], is_error: true }]);
});

test('the Anthropic request has a line of text in place of a picture in the result of a failed tool call (wire rule A12)', () => {
  const parts = [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }];
  const failed: Message = { ...result('a', 'No such page.'), parts, isError: true };
  const { messages } = render([user('Go'), calls('a'), failed]);
  const words = [text('No such page.'), text('(a picture of the failed call is not shown)')];
  expect(messages[2]?.content).toEqual([{ ...found('a'), content: words, is_error: true }]);
  const shown = render([user('Go'), calls('a'), { ...failed, isError: false }]);
  expect(JSON.stringify(shown)).toContain('https://x.test/a.png');
});

test('the Anthropic request of an agent without tools has a placeholder while the history has a tool call (wire rule X6)', () => {
  const history = [user('Go'), calls('a'), result('a')];
  const stub = {
    name: 'unknown_tool',
    description: expect.stringContaining('Not available'),
    input_schema: { type: 'object' },
  };
  expect(render(history, {}, { tools: [] }).tools).toMatchObject([stub]);
  expect(render([user('Go')], {}, { tools: [] })).not.toHaveProperty('tools');
});

test('the Anthropic request has the model’s own blocks verbatim and in order, with server tool results beside their calls (wire rule A11)', () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } };
  const hits = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
  const items = [text('I look. '), search, hits, text('So.'), use('a')];
  const message = own({ ...calls('a'), content: 'I look. So.' }, items);
  expect(render([user('Go'), message, result('a')]).messages[1]?.content).toEqual(items);
});

test('the Anthropic request has no verbatim blocks of another model or of an edited message', () => {
  const edited = own(says('Shorter.'), [text('Much longer.')]);
  const foreign = own(calls('a'), [thinking, use('a')], { model: 'model-2' });
  const contents = render([user('Go'), foreign, result('a'), edited, user('Go')]).messages.map(
    ({ content }) => content,
  );
  expect(contents.slice(1, 4)).toEqual([[use('a')], [found('a')], [text('Shorter.')]]);
});

test('the Anthropic request leaves out blank texts, unsigned thinking and server tool calls without a result', () => {
  const cut = { type: 'thinking', thinking: 'hm', signature: '' };
  const paused = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
  const message = own(calls('a'), [cut, text('\n'), use('a'), paused]);
  expect(render([user('Go'), message, result('a')]).messages[1]?.content).toEqual([use('a')]);
  const silent = own(says(''), [thinking]);
  expect(render([user('Go'), silent, user('Go')]).messages[1]?.content).toEqual([thinking, text(EMPTY_TEXT)]);
});

test('the Anthropic request has a number that JavaScript would change as a string, and leaves the thinking beside its call unchanged', () => {
  const given = '{"id":12345678901234567890}';
  const call: Message = { ...calls('a'), toolCalls: [{ id: 'a', name: 'read', arguments: given }] };
  const lossy = { ...use('a'), input: JSON.parse(given) as unknown };
  const exact = { ...use('a'), input: { id: '12345678901234567890' } };
  for (const [message, sent] of [
    [call, [exact]],
    [own(call, [thinking, lossy]), [thinking, exact]],
  ] as const) {
    const { messages } = render([user('Go'), message, result('a'), user('Go')]);
    expect(messages[1]?.content).toEqual(sent);
  }
});

test('the Anthropic request has the provider’s own compaction item only as its first block, and elsewhere the text of the summary (wire rule A10)', () => {
  const block = { type: 'compaction', content: 'Done.', encrypted_content: null, signature: 's=' };
  const failed = { type: 'compaction', content: null, encrypted_content: null };
  const { messages } = render([summary('Done.', [block]), user('Go'), summary('More.', [block]), user('Go')]);
  expect(messages[0]).toEqual({ role: 'assistant', content: [block] });
  expect(JSON.stringify(messages).match(/"type":"compaction"/g)).toHaveLength(1);
  expect(messages[1]?.content).toMatchObject([text('Go'), { type: 'text' }, text('Go')]);
  expect(render([user('Go'), summary('Done.', [block])]).messages).toHaveLength(1);
  expect(render([summary('Done.', [failed])]).messages[0]?.role).toBe('user');
  const inside = own(says('Yes.'), [block, text('Yes.')]);
  expect(render([user('Go'), inside, user('Go')]).messages[1]?.content).toEqual([text('Yes.')]);
});

describe('thinking', () => {
  const loop = [user('Go'), thoughtful('a'), result('a')];

  test('the Anthropic request has thinking switched on while the current tool loop has all of its thinking (wire rule A7)', () => {
    expect(render(loop, { thinking: ADAPTIVE }).thinking).toEqual(ADAPTIVE);
    expect(render(loop)).not.toHaveProperty('thinking');
    const answered = [user('Go'), calls('a'), result('a'), says('Done.'), user('Next')];
    expect(render(answered, { thinking: ADAPTIVE }).thinking).toEqual(ADAPTIVE);
  });

  const ENABLED = { type: 'enabled', budget_tokens: 1_024 } as const;

  test.each<[string, Message[]]>([
    ['a call without thinking follows', [...loop, calls('b'), result('b')]],
    ['a call without thinking comes first', [user('Go'), calls('b'), result('b'), thoughtful('a'), result('a')]],
    ['user text follows the results of a call without thinking', [user('Go'), calls('b'), result('b'), user('Faster')]],
  ])(
    'the Anthropic request has `enabled` thinking switched off until the tool loop ends, and `adaptive` thinking still on, if %s (wire rule A7)',
    (_case, history) => {
      expect(render(history, { thinking: ENABLED })).not.toHaveProperty('thinking');
      expect(render(history, { thinking: ADAPTIVE }).thinking).toEqual(ADAPTIVE);
    },
  );

  test.each<[string, Message]>([
    ['was written under another context version', thoughtful('b', { version: 1 })],
    ['was written by another model', thoughtful('b', { model: 'model-2' })],
    ['belongs to an edited message', { ...thoughtful('b'), content: 'Edited.' }],
    ['comes after a tool call, where the API refuses thinking', own(calls('b'), [use('b'), thinking])],
  ])(
    'the Anthropic request has thinking switched off until the end of a tool loop whose thinking %s (wire rule A7)',
    (_case, lost) => {
      const history = [...loop, lost, result('b')];
      expect(render(history, { thinking: ADAPTIVE }, { version: 2 })).not.toHaveProperty('thinking');
      const answered = [...history, says('Done.'), user('Next')];
      expect(render(answered, { thinking: ADAPTIVE }, { version: 2 }).thinking).toEqual(ADAPTIVE);
    },
  );

  test.each([
    ['disabled', { type: 'disabled' }],
    ['between_tools', undefined],
    ['never', undefined],
    ['omit', undefined],
  ] as const)(
    'the Anthropic request after lost thinking has the setting `thinking` only if the API accepts `disabled` for the model (%s, wire rule A7)',
    (off, sent) => {
      const history = [...loop, thoughtful('b', { version: 1 }), result('b')];
      expect(render(history, { off, thinking: ADAPTIVE }, { version: 2 }).thinking).toEqual(sent);
    },
  );

  test.each<[string, Record<string, unknown>[], Record<string, unknown>[]]>([
    ['ends the answer', [thinking, text('One.'), thinking], [thinking, text('One.')]],
    ['follows a text', [text('One.'), thinking, text('Two.')], [text('One.'), text('Two.')]],
    ['follows a call', [use('a'), thinking, text('One.')], [use('a'), text('One.')]],
    ['follows a blank text', [text(' '), thinking, text('One.')], [thinking, text('One.')]],
  ])(
    'the Anthropic request keeps thinking only at the start of a message, even if the model wrote thinking that %s (wire rule A7)',
    (_case, items, sent) => {
      const said = items.map((item) => (typeof item['text'] === 'string' ? item['text'] : '')).join('');
      const called = items.some(({ type }) => type === 'tool_use');
      const message = own(called ? { ...calls('a'), content: said } : says(said), items);
      const history = [user('Go'), message, ...(called ? [result('a')] : []), user('Next')];
      expect(render(history).messages[1]?.content).toEqual(sent);
    },
  );

  test('the Anthropic request has no thinking of an answer that is merged into a previous answer without thinking (wire rule A7)', () => {
    const answered = own(says('Done.'), [thinking, text('Done.')]);
    const silent = own(says(''), [thinking]);
    const behindText = [user('Go'), says('Well.'), answered, silent, user('Next')];
    expect(render(behindText).messages[1]?.content).toEqual([text('Well.'), text('Done.'), text(EMPTY_TEXT)]);
    const behindThinking = render([user('Go'), answered, answered, user('Next')]).messages[1]?.content;
    expect(behindThinking).toEqual([thinking, text('Done.'), thinking, text('Done.')]);
  });

  test('the Anthropic request has thinking switched off in an unfinished tool loop that started without thinking (wire rule A7)', () => {
    const history = [user('Go'), says('Well.'), thoughtful('a'), result('a')];
    const body = render(history, { thinking: ADAPTIVE });
    expect(body.messages[1]?.content).toEqual([text('Well.'), use('a')]);
    expect(body).not.toHaveProperty('thinking');
    expect(render([...history, says('Done.'), user('Next')], { thinking: ADAPTIVE }).thinking).toEqual(ADAPTIVE);
  });

  test.each<[string, object, boolean]>([
    ['sends thinking that was written under the same context version', { version: 2 }, true],
    ['drops thinking that was written under another context version', { version: 1 }, false],
    ['sends thinking whose context version was not recorded', {}, true],
    ['drops thinking that was written under another prompt or other tools', { version: 2, prefix: 'other' }, false],
  ])('the Anthropic request %s (wire rule A8)', (_case, binding, isKept) => {
    const history = [user('Go'), thoughtful('a', binding), result('a')];
    const body = render(history, { thinking: ADAPTIVE }, { version: 2 });
    expect(body.messages[1]?.content).toEqual(isKept ? [thinking, use('a')] : [use('a')]);
    expect(body.thinking).toEqual(isKept ? ADAPTIVE : undefined);
  });

  test('the hash that is recorded with thinking stays the same until the prompt or the tools change (wire rule A8)', () => {
    const { prefix } = renderAnthropic(requestOf([user('Go')]));
    const history = [user('Go'), thoughtful('a', { prefix }), result('a')];
    expect(render(history).messages[1]?.content).toHaveLength(2);
    expect(render(history, {}, { system: 'Be brief.' }).messages[1]?.content).toHaveLength(1);
  });

  test('the Anthropic request keeps its tools and its thinking when the model invents a tool name (wire rule A8)', () => {
    const madeUp: Message = { ...calls('b'), toolCalls: [{ id: 'b', name: 'made_up', arguments: '{"path":"a"}' }] };
    const { prefix } = renderAnthropic(requestOf([user('Go')]));
    const history = [user('Go'), thoughtful('a', { prefix }), result('a'), madeUp, result('b')];
    const inside = render(history, { thinking: ADAPTIVE });
    expect(inside.tools?.map((tool) => tool.name)).toEqual(['read']);
    expect(inside.messages[1]?.content).toHaveLength(2);
    expect(inside.messages[3]?.content).toEqual([{ ...use('b'), name: 'made_up' }]);
    expect(inside.thinking).toEqual(ADAPTIVE);
    const later = render([...history, says('Done.'), user('Next')], { thinking: ADAPTIVE });
    expect(later.tools).toEqual(inside.tools);
    expect(later.messages[1]?.content).toHaveLength(2);
  });

  test('an output limit below the thinking budget leaves half of the limit for the answer, or turns thinking off', () => {
    const options = { thinking: { type: 'enabled', budget_tokens: 8_000 } } as const;
    const budgetFor = (maxOutputTokens: number) => render(loop, options, { maxOutputTokens }).thinking;
    expect(budgetFor(8_001)).toEqual({ type: 'enabled', budget_tokens: 8_000 });
    expect(budgetFor(8_000)).toEqual({ type: 'enabled', budget_tokens: 4_000 });
    expect(budgetFor(1_025)).toEqual({ type: 'enabled', budget_tokens: 1_024 });
    expect(render(loop, options, { maxOutputTokens: 1_024 })).not.toHaveProperty('thinking');
  });
});

describe('cache breakpoints (wire rule A9)', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const renderMarked = (messages: readonly Message[], system: string): AnthropicBody =>
    renderAnthropic(requestOf(messages, { system })).body;

  test('the Anthropic request has cache breakpoints after the system texts, the last summary and the last message (wire rule A9)', () => {
    const history = [summary('One.'), user('Go'), summary('Two.'), calls('a'), result('a')];
    const { system, tools, messages } = renderMarked(history, 'Be brief.');
    expect(system).toEqual([{ ...text('Be brief.'), ...mark }]);
    expect(tools?.[0]).not.toHaveProperty('cache_control');
    expect(messages.map(({ content }) => content.map((block) => 'cache_control' in block))).toEqual([
      [false, false, true],
      [false],
      [true],
    ]);
  });

  test('the Anthropic request has its fourth cache breakpoint at the end of the previous user turn (wire rule A9)', () => {
    const history = [
      summary('One.'),
      user('Go'),
      calls('a'),
      result('a'),
      calls('b'),
      result('b'),
      says('Done'),
      user('On'),
    ];
    const { messages } = renderMarked(history, 'Be brief.');
    const marked = messages.map(({ content }) => content.map((block) => 'cache_control' in block));
    expect(marked).toEqual([[true, false], [false], [false], [false], [true], [false], [true]]);
  });

  test('every cache breakpoint of an Anthropic request has the time that the policy asks for (wire rule A9)', () => {
    const { body } = renderAnthropic(
      requestOf([user('Go'), says('Done'), user('On')], { system: 'Be brief.', cacheTtl: '1h' }),
    );
    const marks = JSON.stringify(body).match(/"cache_control":\{[^}]*\}/g);
    expect(marks).toEqual(Array.from({ length: 3 }, () => '"cache_control":{"type":"ephemeral","ttl":"1h"}'));
  });

  test('the Anthropic request has a cache breakpoint on the tools if there is no system text, and never on thinking (wire rule A9)', () => {
    const { tools, messages } = renderMarked([user('Go'), own(says(''), [text(' '), thinking])], '');
    expect(tools?.[0]).toMatchObject(mark);
    expect(messages[1]?.content).toEqual([thinking, { ...text(EMPTY_TEXT), ...mark }]);
  });
});

test.each([
  [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }, '(an empty picture is not shown)'],
  [{ type: 'image_url', image_url: { url: 'file:///a.png' } }, '(a picture that is not on the web is not shown)'],
  [
    { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg/>' } },
    '(a picture that is not on the web is not shown)',
  ],
])('the Anthropic request has a line of text in place of the unsupported message part %j', (part, line) => {
  expect(render([{ ...user('Look'), parts: [part] }]).messages[0]?.content).toEqual([text('Look'), text(line)]);
});

test('the Anthropic request has the picture of a data URL that has parameters', () => {
  const png = { type: 'image_url', image_url: { url: `data:image/png;charset=utf-8;base64,${PIXEL}` } };
  const source = { type: 'base64', media_type: 'image/png', data: PIXEL };
  expect(render([{ ...user(''), parts: [png] }]).messages[0]?.content).toEqual([{ type: 'image', source }]);
});

test('the Anthropic request has pictures of users and tool results as blocks, and unsupported parts as lines of text', () => {
  const png = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } };
  const tiff = { type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'AAAA' } };
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } };
  const shown: Message = { ...result('a', 'here'), parts: [png] };
  const { messages } = render([{ ...user('Look'), parts: [tiff, { type: 'file' }] }, calls('a'), shown]);
  expect(messages[0]?.content).toEqual([
    text('Look'),
    text('(a picture of type image/tiff is not shown)'),
    text('(a part of type file is not shown)'),
  ]);
  expect(messages[2]?.content).toEqual([{ ...found('a'), content: [text('here'), picture] }]);
});
