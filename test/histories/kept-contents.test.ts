/** Texts, calls and ids that stand in unusual places of foreign messages are kept, noted or refused. */
import { describe, expect, it, test } from 'vitest';
import { readMessageText as readRunText } from '../../src/api/http/ag-ui/message-content.ts';
import { readUserInput } from '../../src/api/http/ai-sdk/chat-request.ts';
import { readCompactRequest } from '../../src/api/http/compact/compact-request.ts';
import { readUserContent } from '../../src/api/http/responses/create-request.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { ForeignMessages } from '../../src/wire/histories/formats/format.ts';
import { unwrapLangchain } from '../../src/wire/histories/formats/langchain.ts';
import { ItemReader } from '../../src/wire/histories/formats/responses-items.ts';
import { type ReadHistory, readHistoryInSlices } from '../../src/wire/histories/history.ts';
import { HistoryNotes } from '../../src/wire/histories/notes.ts';

const read = (...messages: readonly unknown[]): ReadHistory =>
  runToEnd(readHistoryInSlices({ messages: [{ role: 'user', content: 'Go.' }, ...messages] }));
const contentsOf = ({ messages }: ReadHistory): string[] => messages.slice(1).map(({ content }) => content);
const notesOf = ({ notes }: ReadHistory): string[] => notes.map(({ kind, at }) => `${kind} ${at}`);
const call = (id: unknown, name: string, more: object = {}) => ({ id, function: { name, arguments: '{}' }, ...more });

describe('texts of an imported message', () => {
  test.each([
    ['.env holds the key', 'See\n.env holds the key'],
    ['. Then stop', 'See. Then stop'],
    ['.', 'See.'],
    [')]', 'See)]'],
    ['!important', 'See\n!important'],
  ])('an import joins the text parts "See" and "%s" without running their words together', (text, joined) => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'text', text },
    ];
    expect(contentsOf(read({ role: 'assistant', content }))).toEqual([joined]);
  });

  it('an import turns a plain text document into text that includes its fields `title` and `context`', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'Grass is green.' };
    const document = { type: 'document', source, title: 'Colours', context: 'From 2019.' };
    const [content] = contentsOf(read({ role: 'user', content: [document, { type: 'text', text: 'Which colour?' }] }));
    expect(content).toBe('Colours\nFrom 2019.\nGrass is green.\nWhich colour?');
  });

  it('an import reads a document with several content blocks as text', () => {
    const source = {
      type: 'content',
      content: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ],
    };
    expect(contentsOf(read({ role: 'user', content: [{ type: 'document', source, title: 'T' }] }))).toEqual([
      'T\nOne.\nTwo.',
    ]);
  });

  it('an import reads the documents of a Cohere tool result as text', () => {
    const content = [{ type: 'document', document: { id: 'd1', data: '{"celsius":21}' } }];
    expect(
      contentsOf(
        read({ role: 'assistant', tool_calls: [call('c1', 'weather')] }, { role: 'tool', tool_call_id: 'c1', content }),
      ),
    ).toEqual(['', 'd1\n{"celsius":21}']);
  });

  it('an import keeps the plan of a Cohere message, and accepts the flag `prefix` of Mistral', () => {
    const plan = { role: 'assistant', tool_plan: 'I look it up.', tool_calls: [call('c1', 'weather')] };
    expect(contentsOf(read(plan, { role: 'assistant', content: 'It is', prefix: true }))).toContain('I look it up.');
  });

  it('an import keeps the refusal and the reasoning of a LangChain message', () => {
    const others = { refusal: 'I will not.', reasoning_content: 'It is a trap.' };
    const message = { type: 'ai', content: '', additional_kwargs: others };
    const dumped = unwrapLangchain(message, '[1]', new ForeignMessages());
    for (const history of [read({ role: 'assistant', content: '', additional_kwargs: others }), read(dumped)]) {
      expect(contentsOf(history)).toEqual(['I will not.']);
      expect(JSON.stringify(history.messages)).toContain('It is a trap.');
    }
  });

  it('an import keeps the thinking blocks of a LiteLLM message', () => {
    const thinking_blocks = [{ type: 'thinking', thinking: 'Two and three.', signature: 's' }];
    expect(JSON.stringify(read({ role: 'assistant', content: '5', thinking_blocks }).messages)).toContain(
      'Two and three.',
    );
  });

  it('an import of an AI SDK message keeps its content if the message parts do not contain it', () => {
    const differing = {
      role: 'assistant',
      content: 'From the content.',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'From a part.' }],
    };
    expect(contentsOf(read({ ...differing, id: 'm1' }))).toEqual(['From the content.\nFrom a part.']);
    const same = {
      role: 'assistant',
      content: 'One. Two.',
      parts: ['One.', ' Two.'].map((text) => ({ type: 'text', text })),
      id: 'm1',
    };
    expect(contentsOf(read({ ...same, parts: [{ type: 'step-start' }, ...same.parts] }))).toEqual(['One. Two.']);
  });

  it('an import puts the name of an assistant before the text', () => {
    const history = read({ role: 'assistant', name: 'critic', content: 'It is too long.' });
    expect(contentsOf(history)).toEqual(['critic: It is too long.']);
    expect(notesOf(history)).toEqual(['mapped messages[1].name']);
  });

  it('an imported tool call that was denied has a result that says why', () => {
    const parts = ['output-denied', 'approval-responded'].map((state, at) => ({
      type: 'tool-delete',
      toolCallId: `c${at}`,
      state,
      input: {},
      approval: { id: `a${at}`, approved: false, reason: 'Not on Fridays.' },
    }));
    expect(contentsOf(read({ role: 'assistant', parts }))).toEqual([
      '',
      'The call was denied: Not on Fridays.',
      'The call was denied: Not on Fridays.',
    ]);
  });
});

describe('a user message with several text parts in a request over HTTP', () => {
  const content = ['First.', 'Second.'].map((text) => ({ type: 'text', text }));

  it.each([
    ['AG-UI', () => readRunText({ id: 'm', role: 'user', content }, 0)],
    ['Responses', () => readUserContent(content, 'input[0]').text],
    [
      'compact',
      () =>
        readCompactRequest({ model: 'structural', input: [{ type: 'message', role: 'user', content }] }).userRequest,
    ],
    ['AI SDK', () => readUserInput({ id: 'm', role: 'user', parts: content }).text],
  ])('the text parts of a user message are joined with a line break in the protocol %s', (_door, readMessageText) => {
    expect(readMessageText()).toBe('First.\nSecond.');
  });
});

describe('sources of a text', () => {
  const source = { url: 'https://a.example/4', title: 'Karakorum 4' };

  it.each([
    ['OpenAI Chat', { content: 'In May.', annotations: [{ type: 'url_citation', url_citation: source }] }],
    ['LangChain', { content: [{ type: 'text', text: 'In May.', annotations: [{ type: 'citation', ...source }] }] }],
  ])('an import puts the citations of a text behind this text, in the format %s', (_format, message) => {
    expect(contentsOf(read({ role: 'assistant', ...message }))).toEqual([
      'In May.\n[Karakorum 4, https://a.example/4]',
    ]);
  });

  it('an import puts the citations of a text behind this text, in the format of the Responses API', () => {
    const reader = new ItemReader(new HistoryNotes());
    const annotations = [
      { type: 'url_citation', ...source },
      { type: 'file_citation', file_id: 'f', filename: 'a.txt' },
    ];
    reader.enter(
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'In May.', annotations }] },
      '[0]',
    );
    expect(reader.finish()[0]?.message.content).toBe('In May.\n[Karakorum 4, https://a.example/4]\n[a.txt]');
  });

  it('an import leaves a citation out with a note if the citation names no source', () => {
    const history = read({ role: 'assistant', content: 'In May.', annotations: [{ type: 'file_path', file_id: 'f' }] });
    expect(contentsOf(history)).toEqual(['In May.']);
    expect(notesOf(history)).toEqual(['left_out messages[1].annotations[0]']);
  });
});

describe('calls of an imported message', () => {
  it('an import accepts call ids that are numbers', () => {
    const calls = { role: 'assistant', tool_calls: [call(1, 'first'), call(2, 'second')] };
    const { messages } = read(
      calls,
      { role: 'tool', tool_call_id: 2, content: 'of the second' },
      { role: 'tool', tool_call_id: 1, content: 'of the first' },
    );
    const [, answer, ...results] = messages;
    expect(answer?.toolCalls?.map(({ id }) => id)).toEqual(['1', '2']);
    expect(results.map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
      ['2', 'of the second'],
      ['1', 'of the first'],
    ]);
  });

  it('an import gives a call without an id a new id that the history does not contain', () => {
    const { messages } = read(
      { role: 'assistant', tool_calls: [call('call_1', 'first'), { function: { name: 'second', arguments: '{}' } }] },
      { role: 'tool', tool_name: 'second', content: 'of the second' },
      { role: 'tool', tool_call_id: 'call_1', content: 'of the first' },
    );
    expect(messages.slice(2).map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
      ['call_2', 'of the second'],
      ['call_1', 'of the first'],
    ]);
  });

  it('an import keeps a LangChain call with invalid arguments exactly once', () => {
    const bad = { id: 'c1', name: 'weather', args: '{"city":', type: 'invalid_tool_call', error: 'no JSON' };
    const old = { tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{"city":' } }] };
    for (const message of [
      { role: 'assistant', content: '', invalid_tool_calls: [bad] },
      { role: 'assistant', content: '', tool_calls: [], invalid_tool_calls: [bad], additional_kwargs: old },
      unwrapLangchain(
        { type: 'ai', content: [bad], tool_calls: [], invalid_tool_calls: [bad], additional_kwargs: old },
        '[1]',
        new ForeignMessages(),
      ),
      { role: 'assistant', content: [bad] },
    ]) {
      const [, answer] = read(message).messages;
      expect(answer?.toolCalls).toEqual([{ id: 'c1', name: 'weather', arguments: '{"city":' }]);
    }
  });

  it('an import reads calls that the provider ran from LangChain content blocks', () => {
    const content = [
      { type: 'server_tool_call', id: 's1', name: 'web_search', args: { query: 'Graz' } },
      { type: 'server_tool_result', tool_call_id: 's1', status: 'error', output: [{ url: 'https://a.example' }] },
    ];
    const [, answer, result] = read({ role: 'assistant', content }).messages;
    expect(answer?.toolCalls).toEqual([{ id: 's1', name: 'web_search', arguments: '{"query":"Graz"}' }]);
    expect(result).toMatchObject({ toolCallId: 's1', isError: true, content: '[{"url":"https://a.example"}]' });
  });

  it.each([
    ['user', 'tool_calls', [call('c1', 'f')]],
    ['user', 'function_call', { name: 'f', arguments: '{}' }],
    ['system', 'toolInvocations', [{ toolCallId: 'c1', toolName: 'f', args: {} }]],
    ['user', 'reasoning_content', 'why'],
    ['tool', 'refusal', 'no'],
  ])(
    'an import refuses a field that only an assistant message may have, and names the field: %s %s',
    (role, key, value) => {
      expect(() => read({ role, content: 'x', [key]: value })).toThrow(`messages[1].${key}`);
    },
  );

  it('an import notes each left-out field of a call other than name and arguments', () => {
    const history = read({
      role: 'assistant',
      tool_calls: [call('c1', 'f', { extra_content: { google: { thought_signature: 's' } } })],
    });
    expect(notesOf(history)).toEqual(['left_out messages[1].tool_calls[0].extra_content']);
  });
});
