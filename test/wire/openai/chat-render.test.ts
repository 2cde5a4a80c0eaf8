import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { FIRST_TEXT } from '../../../src/wire/arrange.ts';
import type { ChatBody } from '../../../src/wire/openai-chat/body.ts';
import { type ChatOptions } from '../../../src/wire/openai-chat/render.ts';
import { EMPTY_TEXT } from '../../../src/wire/parts.ts';
import type { WireRequest } from '../../../src/wire/wire-request.ts';
import { calls, result, says, user } from '../messages.ts';
import { renderChat } from '../whole.ts';
import { readChat } from './read-chat.ts';

const MODEL = 'model-1';
const PICTURE = 'data:image/png;base64,AAAA';

const own = (message: Message, item: Record<string, unknown>): Message => ({
  ...message,
  raw: { format: 'openai-chat', model: MODEL, items: [{ role: 'assistant', ...item }] },
});
const shows = (toolCallId: string, ...parts: unknown[]): Message => ({ ...result(toolCallId, ''), parts });

const call = (id: string, more: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{"path":"a"}' },
  ...more,
});
const wireCalls = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) });
const found = (id: string, content = 'found') => ({ role: 'tool', tool_call_id: id, content });
const picture = { type: 'image_url', image_url: { url: PICTURE } };
const text = (value: string) => ({ type: 'text', text: value });

function requestOf(messages: readonly Message[], more: Partial<WireRequest> = {}): WireRequest {
  const tools = [{ name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } }];
  return { model: MODEL, system: '', tools, messages, maxOutputTokens: 4_096, ...more };
}

function render(messages: readonly Message[], options?: ChatOptions, more?: Partial<WireRequest>): ChatBody {
  return renderChat(requestOf(messages, more), options).body;
}

function contentsOf(messages: readonly Message[], options?: ChatOptions): unknown[] {
  return render(messages, options).messages.map(({ role, content }) => [role, content]);
}

describe('order and roles', () => {
  test('C1, C2: results directly follow their call, in the order of their arrival', () => {
    const { messages } = render([user('Go'), calls('a', 'b'), user('Faster'), result('b'), result('a')]);
    expect(messages).toEqual([user('Go'), wireCalls('a', 'b'), found('b'), found('a'), user('Faster')]);
  });

  test('C3, X3: content is null only beside calls, and blank content is a placeholder', () => {
    expect(contentsOf([user(' '), says('\n'), user('Go'), calls('a'), result('a', '')])).toEqual([
      ['user', EMPTY_TEXT],
      ['assistant', EMPTY_TEXT],
      ['user', 'Go'],
      ['assistant', null],
      ['tool', EMPTY_TEXT],
    ]);
  });

  test('C4, X7: arguments are the text of an object, whatever the model wrote', () => {
    const broken: Message = { ...calls('a'), toolCalls: [{ id: 'a', name: 'read', arguments: '{"cut": "o' }] };
    const [, message] = render([user('Go'), broken, result('a')]).messages;
    expect(message).toMatchObject({
      tool_calls: [{ function: { arguments: '{"invalid_arguments":"{\\"cut\\": \\"o"}' } }],
    });
  });

  test('C5: the prompt and the log’s system messages are one message in front', () => {
    const history = [user('Hi'), says('Salut'), { role: 'system', content: 'Use French.' } as const, user('Go')];
    const { messages } = render(history, { systemRole: 'developer' }, { system: 'Be brief.' });
    expect(messages[0]).toEqual({ role: 'developer', content: [text('Be brief.'), text('Use French.')] });
    expect(messages.map(({ role }) => role)).toEqual(['developer', 'user', 'assistant', 'user']);
    expect(render(history).messages[0]).toEqual({ role: 'system', content: 'Use French.' });
  });

  test('X5: a history that starts with another role gets a user message in front', () => {
    expect(render([says('Hello'), user('Hi')]).messages[0]).toEqual(user(FIRST_TEXT));
  });

  test('X6: a schema has a type and properties, and a tool that no longer exists gets a stub', () => {
    const bare = { name: 'now', description: '', parameters: {} };
    const { tools } = render([user('Go'), calls('a'), result('a')], {}, { tools: [bare] });
    expect(tools?.map(({ function: { name, parameters } }) => [name, parameters])).toEqual([
      ['now', { type: 'object', properties: {} }],
      ['read', { type: 'object', properties: {} }],
    ]);
    expect(render([user('Go')], {}, { tools: [] })).not.toHaveProperty('tools');
  });

  test('the output cap has the server’s name', () => {
    expect(render([user('Go')])).toMatchObject({ max_completion_tokens: 4_096 });
    const older = render([user('Go')], { outputCapField: 'max_tokens' });
    expect(older).toMatchObject({ max_tokens: 4_096 });
    expect(older).not.toHaveProperty('max_completion_tokens');
  });
});

describe('C6: pictures', () => {
  test('in user messages stay in place', () => {
    const { messages } = render([{ ...user('Look'), parts: [picture, text('Look')] }]);
    expect(messages).toEqual([{ role: 'user', content: [picture, text('Look')] }]);
  });

  test('in results follow the round in a user message, and are restored to the results', () => {
    const history = [user('Go'), calls('a', 'b'), shows('a', text('one'), picture), shows('b', picture), says('Well.')];
    const { body, marks } = renderChat(requestOf(history));
    expect(body.messages.slice(2)).toEqual([
      found('a', 'one'),
      found('b', '(the picture follows)'),
      { role: 'user', content: [picture, picture] },
      says('Well.'),
    ]);
    const read = readChat(body, marks);
    expect(read.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
    expect(read.messages[2]).toEqual({ ...shows('a', text('one'), picture), content: 'one' });
    expect([...marks.replaced.keys()]).toEqual([3]);
  });

  test('in results leave one joined text, and the marks keep the original', () => {
    const history = [user('Go'), calls('a'), shows('a', text('one'), picture, text('two'))];
    const { body, marks } = renderChat(requestOf(history));
    expect(body.messages[2]).toEqual(found('a', 'one\ntwo'));
    expect(readChat(body, marks).messages[2]).toEqual(history[2]);
  });
});

test('an error has no field, and the marks restore it', () => {
  const failed: Message = { ...result('a'), isError: true };
  const { body, marks } = renderChat(requestOf([user('Go'), calls('a'), failed]));
  expect(body.messages[2]).toEqual(found('a'));
  expect(readChat(body, marks).messages[2]).toEqual(failed);
});

describe('messages of the server', () => {
  const signature = { extra_content: { google: { thought_signature: 'signed=' } } };

  test('go back verbatim with signatures of calls, and are restored', () => {
    const message = own(calls('a'), { content: null, tool_calls: [call('a', signature)], refusal: null });
    const { body, marks } = renderChat(requestOf([user('Go'), message, result('a')]));
    expect(body.messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call('a', signature)],
      refusal: null,
    });
    expect(marks.replaced.size).toBe(0);
    expect(readChat(body, marks).messages[1]).toEqual(message);
  });

  test('keep all other fields of a call whose id had to change', () => {
    const message = own(calls('id é'), { content: null, tool_calls: [call('id é', signature)] });
    const { messages } = render([user('Go'), message, result('id é')]);
    expect(messages[1]).toEqual({ role: 'assistant', content: null, tool_calls: [call('id___1', signature)] });
    expect(messages[2]).toEqual(found('id___1'));
  });

  test.each<[string, Message]>([
    ['another text', own(says('Shorter.'), { content: 'Much longer.', annotations: [1] })],
    ['other arguments', own(calls('a'), { tool_calls: [call('a', { function: { name: 'read', arguments: '{}' } })] })],
    ['fewer calls', own(calls('a'), { content: null, reasoning: 'hm' })],
    ['two messages', { ...says('Hi'), raw: { format: 'openai-chat', model: MODEL, items: [{ content: 'Hi' }, {}] } }],
  ])('are not sent for an edited message: %s', (_case, message) => {
    const history = message.toolCalls === undefined ? [message] : [message, result('a')];
    const { raw: _, ...plain } = message;
    expect(render([user('Go'), ...history, user('Go')])).toEqual(
      render([user('Go'), plain, ...history.slice(1), user('Go')]),
    );
  });

  test('have no blank text beside calls, and a placeholder for a blank answer', () => {
    const beside = own(calls('a'), { content: '\n', tool_calls: [call('a')], reasoning: 'hm' });
    const blank = own(says(''), { content: '', reasoning: 'hm' });
    const { messages } = render([user('Go'), beside, result('a'), blank]);
    expect(messages[1]).toEqual({ ...wireCalls('a'), reasoning: 'hm' });
    expect(messages[3]).toEqual({ role: 'assistant', content: EMPTY_TEXT, reasoning: 'hm' });
  });
});

describe('C7: reasoning of an open model', () => {
  const thoughtful = (id: string, field = 'reasoning_content'): Message =>
    own(calls(id), { content: null, tool_calls: [call(id)], [field]: `thought ${id}` });
  const thoughts = (messages: readonly Message[], options?: ChatOptions): unknown[] =>
    render(messages, options).messages.flatMap((message) =>
      'reasoning_content' in message ? [message.reasoning_content] : [],
    );

  test('goes back inside the tool loop', () => {
    const loop = [user('Go'), thoughtful('a'), result('a'), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts([...loop, says('Done.'), user('Next'), thoughtful('c'), result('c')])).toEqual(['thought c']);
  });

  test('is dropped after the loop in every form, and kept in the marks', () => {
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_details']) {
      const message = thoughtful('a', field);
      const { body, marks } = renderChat(requestOf([user('Go'), message, result('a'), user('Next')]));
      expect(body.messages[1]).toEqual(wireCalls('a'));
      expect(readChat(body, marks).messages[1]).toEqual(message);
    }
  });

  test('survives a picture of a result, except where a strict template requires an answer', () => {
    const loop = [user('Go'), thoughtful('a'), shows('a', picture), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts(loop, { isStrict: true })).toEqual(['thought b']);
  });

  test('is not sent to another model', () => {
    const foreign: Message = { ...thoughtful('a'), raw: { ...(thoughtful('a').raw as object), model: 'model-2' } };
    expect(thoughts([user('Go'), foreign, result('a')])).toEqual([]);
  });
});

describe('C5: strict templates', () => {
  const strict = (messages: readonly Message[]): unknown[] => contentsOf(messages, { isStrict: true });

  test('merge adjacent user messages', () => {
    expect(strict([user('One'), user('Two')])).toEqual([['user', [text('One'), text('Two')]]]);
  });

  test('get a placeholder between two answers, and between results and a user message', () => {
    expect(strict([user('Go'), says('Well'), calls('a'), result('a'), user('Next')])).toEqual([
      ['user', 'Go'],
      ['assistant', 'Well'],
      ['user', '(go on)'],
      ['assistant', null],
      ['tool', 'found'],
      ['assistant', '(the results are noted)'],
      ['user', 'Next'],
    ]);
  });

  test('get placeholders that are not restored as messages', () => {
    const history = [user('Go'), says('Well'), calls('a'), result('a'), user('Next'), user('!')];
    const { body, marks } = renderChat(requestOf(history), { isStrict: true });
    expect(readChat(body, marks).messages).toEqual(history);
  });
});
