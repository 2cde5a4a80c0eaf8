import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { FIRST_TEXT } from '../../src/wire/arrange.ts';
import type { ChatBody } from '../../src/wire/openai-chat/body.ts';
import { type ChatOptions } from '../../src/wire/openai-chat/render.ts';
import { EMPTY_TEXT } from '../../src/wire/parts.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { calls, result, says, user } from './messages.ts';
import { renderChat } from './whole.ts';

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
  test('a Chat body has results directly behind their calls, in the order of their arrival (C1, C2)', () => {
    const { messages } = render([user('Go'), calls('a', 'b'), user('Faster'), result('b'), result('a')]);
    expect(messages).toEqual([user('Go'), wireCalls('a', 'b'), found('b'), found('a'), user('Faster')]);
  });

  test('a Chat body has null content only beside calls, and a placeholder for blank content (C3, X3)', () => {
    expect(contentsOf([user(' '), says('\n'), user('Go'), calls('a'), result('a', '')])).toEqual([
      ['user', EMPTY_TEXT],
      ['assistant', EMPTY_TEXT],
      ['user', 'Go'],
      ['assistant', null],
      ['tool', EMPTY_TEXT],
    ]);
  });

  test('a Chat body has arguments that are the text of a JSON object, whatever the model wrote (C4, X7)', () => {
    const broken: Message = { ...calls('a'), toolCalls: [{ id: 'a', name: 'read', arguments: '{"cut": "o' }] };
    const [, message] = render([user('Go'), broken, result('a')]).messages;
    expect(message).toMatchObject({
      tool_calls: [{ function: { arguments: '{"invalid_arguments":"{\\"cut\\": \\"o"}' } }],
    });
  });

  test('a Chat body starts with one message of the prompt and the system messages of the log (C5)', () => {
    const history = [user('Hi'), says('Salut'), { role: 'system', content: 'Use French.' } as const, user('Go')];
    const { messages } = render(history, { systemRole: 'developer' }, { system: 'Be brief.' });
    expect(messages[0]).toEqual({ role: 'developer', content: [text('Be brief.'), text('Use French.')] });
    expect(messages.map(({ role }) => role)).toEqual(['developer', 'user', 'assistant', 'user']);
    expect(render(history).messages[0]).toEqual({ role: 'system', content: 'Use French.' });
  });

  test('a Chat body starts with a user message, even if the history does not (X5)', () => {
    expect(render([says('Hello'), user('Hi')]).messages[0]).toEqual(user(FIRST_TEXT));
  });

  test('a Chat body has a whole schema for every tool, and a stub for a tool that no longer exists (X6)', () => {
    const bare = { name: 'now', description: '', parameters: {} };
    const { tools } = render([user('Go'), calls('a'), result('a')], {}, { tools: [bare] });
    expect(tools?.map(({ function: { name, parameters } }) => [name, parameters])).toEqual([
      ['now', { type: 'object', properties: {} }],
      ['read', { type: 'object', properties: {} }],
    ]);
    expect(render([user('Go')], {}, { tools: [] })).not.toHaveProperty('tools');
  });

  test('a Chat body names the output cap as its server does', () => {
    expect(render([user('Go')])).toMatchObject({ max_completion_tokens: 4_096 });
    const older = render([user('Go')], { outputCapField: 'max_tokens' });
    expect(older).toMatchObject({ max_tokens: 4_096 });
    expect(older).not.toHaveProperty('max_completion_tokens');
  });
});

describe('C6: pictures', () => {
  test('a Chat body keeps the pictures of a user message in place (C6)', () => {
    const { messages } = render([{ ...user('Look'), parts: [picture, text('Look')] }]);
    expect(messages).toEqual([{ role: 'user', content: [picture, text('Look')] }]);
  });

  test('a Chat body shows the pictures of results in a user message behind the round (C6)', () => {
    const history = [user('Go'), calls('a', 'b'), shows('a', text('one'), picture), shows('b', picture), says('Well.')];
    expect(render(history).messages.slice(2)).toEqual([
      found('a', 'one'),
      found('b', '(the picture follows)'),
      { role: 'user', content: [picture, picture] },
      says('Well.'),
    ]);
  });

  test('a Chat body joins the texts around the picture of a result into one text', () => {
    const history = [user('Go'), calls('a'), shows('a', text('one'), picture, text('two'))];
    expect(render(history).messages[2]).toEqual(found('a', 'one\ntwo'));
  });
});

test('a Chat body sends a failed result without an error flag, because the format has none', () => {
  const failed: Message = { ...result('a'), isError: true };
  expect(render([user('Go'), calls('a'), failed]).messages[2]).toEqual(found('a'));
});

describe('messages of the server', () => {
  const signature = { extra_content: { google: { thought_signature: 'signed=' } } };

  test('a Chat server gets its message back verbatim, with the signatures of its calls', () => {
    const message = own(calls('a'), { content: null, tool_calls: [call('a', signature)], refusal: null });
    expect(render([user('Go'), message, result('a')]).messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call('a', signature)],
      refusal: null,
    });
  });

  test('a Chat server gets all its fields of a call back, even if the id of the call had to change', () => {
    const message = own(calls('id é'), { content: null, tool_calls: [call('id é', signature)] });
    const { messages } = render([user('Go'), message, result('id é')]);
    expect(messages[1]).toEqual({ role: 'assistant', content: null, tool_calls: [call('id___1', signature)] });
    expect(messages[2]).toEqual(found('id___1'));
  });

  test.each<[string, Message]>([
    ['has another text', own(says('Shorter.'), { content: 'Much longer.', annotations: [1] })],
    [
      'has other arguments',
      own(calls('a'), { tool_calls: [call('a', { function: { name: 'read', arguments: '{}' } })] }),
    ],
    ['has fewer calls', own(calls('a'), { content: null, reasoning: 'hm' })],
    [
      'is split in two',
      { ...says('Hi'), raw: { format: 'openai-chat', model: MODEL, items: [{ content: 'Hi' }, {}] } },
    ],
  ])('a Chat server gets our form of a message if its own recorded message %s', (_case, message) => {
    const history = message.toolCalls === undefined ? [message] : [message, result('a')];
    const { raw: _, ...plain } = message;
    expect(render([user('Go'), ...history, user('Go')])).toEqual(
      render([user('Go'), plain, ...history.slice(1), user('Go')]),
    );
  });

  test('a Chat server gets its message back without blank text beside calls, and with a placeholder for a blank answer', () => {
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

  test('reasoning of an open model goes back only inside its tool loop (C7)', () => {
    const loop = [user('Go'), thoughtful('a'), result('a'), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts([...loop, says('Done.'), user('Next'), thoughtful('c'), result('c')])).toEqual(['thought c']);
  });

  test('reasoning of an open model is dropped behind its tool loop, in each of its three fields (C7)', () => {
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_details']) {
      const message = thoughtful('a', field);
      expect(render([user('Go'), message, result('a'), user('Next')]).messages[1]).toEqual(wireCalls('a'));
    }
  });

  test('reasoning stays in its loop behind a picture of a result, unless a strict template requires an answer there (C7)', () => {
    const loop = [user('Go'), thoughtful('a'), shows('a', picture), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts(loop, { isStrict: true })).toEqual(['thought b']);
  });

  test('reasoning of an open model is not sent to another model (C7)', () => {
    const foreign: Message = { ...thoughtful('a'), raw: { ...(thoughtful('a').raw as object), model: 'model-2' } };
    expect(thoughts([user('Go'), foreign, result('a')])).toEqual([]);
  });
});

describe('C5: strict templates', () => {
  const strict = (messages: readonly Message[]): unknown[] => contentsOf(messages, { isStrict: true });

  test('a Chat body for a strict template merges adjacent user messages (C5)', () => {
    expect(strict([user('One'), user('Two')])).toEqual([['user', [text('One'), text('Two')]]]);
  });

  test('a Chat body for a strict template has a placeholder wherever two messages of one side would meet (C5)', () => {
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
});
