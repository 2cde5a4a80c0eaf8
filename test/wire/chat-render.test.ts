import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { FIRST_TEXT } from '../../src/wire/arrange.ts';
import type { ChatBody } from '../../src/wire/openai-chat/body.ts';
import type { ChatOptions } from '../../src/wire/openai-chat/render.ts';
import { EMPTY_TEXT } from '../../src/wire/parts.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { PIXEL } from '../fakes/contents.ts';
import { calls, result, says, user } from './messages.ts';
import { renderChat } from './synchronous-formats.ts';

const MODEL = 'model-1';
const PICTURE = `data:image/png;base64,${PIXEL}`;

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
  test('the Chat Completions request has tool results directly after their calls, in the order in which they arrived (wire rules C1, C2)', () => {
    const { messages } = render([user('Go'), calls('a', 'b'), user('Faster'), result('b'), result('a')]);
    expect(messages).toEqual([user('Go'), wireCalls('a', 'b'), found('b'), found('a'), user('Faster')]);
  });

  test('the Chat Completions request has null content only in messages with tool calls, and a placeholder for blank content (wire rules C3, X3)', () => {
    expect(contentsOf([user(' '), says('\n'), user('Go'), calls('a'), result('a', '')])).toEqual([
      ['user', EMPTY_TEXT],
      ['assistant', EMPTY_TEXT],
      ['user', 'Go'],
      ['assistant', null],
      ['tool', EMPTY_TEXT],
    ]);
  });

  test('the Chat Completions request has the text of a JSON object as arguments, even if the model wrote invalid JSON (wire rules C4, X7)', () => {
    const broken: Message = { ...calls('a'), toolCalls: [{ id: 'a', name: 'read', arguments: '{"cut": "o' }] };
    const [, message] = render([user('Go'), broken, result('a')]).messages;
    expect(message).toMatchObject({
      tool_calls: [{ function: { arguments: '{"invalid_arguments":"{\\"cut\\": \\"o"}' } }],
    });
  });

  const told = (content: string): Message => ({ role: 'system', content });

  test('the Chat Completions request starts with one message that joins the prompt and the first system messages (wire rule C5)', () => {
    const history = [told('Use French.'), user('Hi'), says('Salut'), user('Go')];
    const { messages } = render(history, { systemRole: 'developer' }, { system: 'Be brief.' });
    expect(messages[0]).toEqual({ role: 'developer', content: [text('Be brief.'), text('Use French.')] });
    expect(messages.map(({ role }) => role)).toEqual(['developer', 'user', 'assistant', 'user']);
    expect(render(history).messages[0]).toEqual({ role: 'system', content: 'Use French.' });
  });

  test('the Chat Completions request has a later system message in its place, as a marked text for a server that takes system messages only first', () => {
    const history = [user('Hi'), says('Salut'), told('Use French.'), user('Go')];
    const marked = user('<system_message>\nUse French.\n</system_message>');
    const developer = { role: 'developer', content: 'Use French.' };
    expect(render(history, { systemRole: 'developer' }).messages[2]).toEqual(developer);
    expect(render(history, { takesLaterSystem: false }).messages[2]).toEqual(marked);
    const strict = render(history, { isStrict: true }).messages;
    expect(strict.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(strict[2]).toEqual({ role: 'user', content: [text(marked.content), text('Go')] });
  });

  test('the Chat Completions request has a user message first, even if the history does not (wire rule X5)', () => {
    expect(render([says('Hello'), user('Hi')]).messages[0]).toEqual(user(FIRST_TEXT));
  });

  test('the Chat Completions request has a complete schema for every tool, and no other tools (wire rule X6)', () => {
    const bare = { name: 'now', description: '', parameters: {} };
    const { tools } = render([user('Go'), calls('a'), result('a')], {}, { tools: [bare] });
    expect(tools?.map(({ function: { name, parameters } }) => [name, parameters])).toEqual([
      ['now', { type: 'object', properties: {} }],
    ]);
    expect(render([user('Go')], {}, { tools: [] })).not.toHaveProperty('tools');
  });

  test('the Chat Completions request has its output limit in the field that the server’s options name', () => {
    expect(render([user('Go')])).toMatchObject({ max_completion_tokens: 4_096 });
    const older = render([user('Go')], { outputCapField: 'max_tokens' });
    expect(older).toMatchObject({ max_tokens: 4_096 });
    expect(older).not.toHaveProperty('max_completion_tokens');
  });
});

describe('pictures', () => {
  test('the Chat Completions request keeps the pictures of a user message in place (wire rule C6)', () => {
    const { messages } = render([{ ...user('Look'), parts: [picture, text('Look')] }]);
    expect(messages).toEqual([{ role: 'user', content: [picture, text('Look')] }]);
  });

  test('the Chat Completions request has the pictures of tool results in a user message after the results (wire rule C6)', () => {
    const history = [user('Go'), calls('a', 'b'), shows('a', text('one'), picture), shows('b', picture), says('Well.')];
    expect(render(history).messages.slice(2)).toEqual([
      found('a', 'one'),
      found('b', '(the picture follows)'),
      { role: 'user', content: [picture, picture] },
      says('Well.'),
    ]);
  });

  test('the Chat Completions request joins the texts around a picture in a tool result into one text', () => {
    const history = [user('Go'), calls('a'), shows('a', text('one'), picture, text('two'))];
    expect(render(history).messages[2]).toEqual(found('a', 'one\ntwo'));
  });
});

test('the Chat Completions request has the result of a failed tool call without an error flag, because the format has no such flag', () => {
  const failed: Message = { ...result('a'), isError: true };
  expect(render([user('Go'), calls('a'), failed]).messages[2]).toEqual(found('a'));
});

describe('messages of the server', () => {
  const signature = { extra_content: { google: { thought_signature: 'signed=' } } };

  test('the Chat Completions request has the server’s own message verbatim, with the signatures of its tool calls', () => {
    const message = own(calls('a'), { content: null, tool_calls: [call('a', signature)], refusal: null });
    expect(render([user('Go'), message, result('a')]).messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call('a', signature)],
      refusal: null,
    });
  });

  test('the Chat Completions request keeps all fields that the server added to a tool call, even if the call’s id had to change', () => {
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
  ])(
    'the Chat Completions request has the logged form of a message if the server’s verbatim message %s',
    (_case, message) => {
      const history = message.toolCalls === undefined ? [message] : [message, result('a')];
      const { raw: _, ...plain } = message;
      expect(render([user('Go'), ...history, user('Go')])).toEqual(
        render([user('Go'), plain, ...history.slice(1), user('Go')]),
      );
    },
  );

  test('the Chat Completions request drops blank text beside tool calls, and has a placeholder for a blank answer', () => {
    const beside = own(calls('a'), { content: '\n', tool_calls: [call('a')], reasoning: 'hm' });
    const blank = own(says(''), { content: '', reasoning: 'hm' });
    const { messages } = render([user('Go'), beside, result('a'), blank]);
    expect(messages[1]).toEqual({ ...wireCalls('a'), reasoning: 'hm' });
    expect(messages[3]).toEqual({ role: 'assistant', content: EMPTY_TEXT, reasoning: 'hm' });
  });
});

describe('reasoning of an open-weight model', () => {
  const thoughtful = (id: string, field = 'reasoning_content'): Message =>
    own(calls(id), { content: null, tool_calls: [call(id)], [field]: `thought ${id}` });
  const thoughts = (messages: readonly Message[], options?: ChatOptions): unknown[] =>
    render(messages, options).messages.flatMap((message) =>
      'reasoning_content' in message ? [message.reasoning_content] : [],
    );

  test('the Chat Completions request has an open-weight model’s reasoning only inside its tool loop (wire rule C7)', () => {
    const loop = [user('Go'), thoughtful('a'), result('a'), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts([...loop, says('Done.'), user('Next'), thoughtful('c'), result('c')])).toEqual(['thought c']);
  });

  test('the Chat Completions request drops an open-weight model’s reasoning after its tool loop, in each of two fields (wire rule C7)', () => {
    for (const field of ['reasoning_content', 'reasoning']) {
      const message = thoughtful('a', field);
      expect(render([user('Go'), message, result('a'), user('Next')]).messages[1]).toEqual(wireCalls('a'));
    }
  });

  test('reasoning stays in its tool loop after a picture of a tool result, unless a strict chat template requires an answer there (wire rule C7)', () => {
    const loop = [user('Go'), thoughtful('a'), shows('a', picture), thoughtful('b'), result('b')];
    expect(thoughts(loop)).toEqual(['thought a', 'thought b']);
    expect(thoughts(loop, { isStrict: true })).toEqual(['thought b']);
  });

  test('the Chat Completions request has no reasoning of another model (wire rule C7)', () => {
    const foreign: Message = { ...thoughtful('a'), raw: { ...(thoughtful('a').raw as object), model: 'model-2' } };
    expect(thoughts([user('Go'), foreign, result('a')])).toEqual([]);
  });
});

describe('strict chat templates', () => {
  const strict = (messages: readonly Message[]): unknown[] => contentsOf(messages, { isStrict: true });

  test('the Chat Completions request for a strict chat template merges adjacent user messages (wire rule C5)', () => {
    expect(strict([user('One'), user('Two')])).toEqual([['user', [text('One'), text('Two')]]]);
  });

  test('the Chat Completions request for a strict chat template has a placeholder between two messages of the same role (wire rule C5)', () => {
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
