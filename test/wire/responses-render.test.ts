import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { RawItem } from '../../src/domain/raw-items.ts';
import type { ResponsesOptions } from '../../src/wire/openai-responses/render.ts';
import { EMPTY_TEXT } from '../../src/wire/parts.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { calls, result, says, user } from './messages.ts';
import { renderResponses, validateResponses } from './synchronous-formats.ts';

const MODEL = 'model-1';

const own = (message: Message, items: RawItem[], binding: object = {}): Message => ({
  ...message,
  raw: { format: 'openai-responses', model: MODEL, ...binding, items },
});
const summary = (items: RawItem[]): Message =>
  own({ role: 'summary', content: 'Done.', summary: { from: 1, to: 9 } }, items);

const asked = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const call = (call_id: string, more: object = {}) => ({
  type: 'function_call',
  call_id,
  name: 'read',
  arguments: '{"path":"a"}',
  ...more,
});
const output = (call_id: string, said: unknown = 'found') => ({ type: 'function_call_output', call_id, output: said });
const reasoning = (id: string, more: object = {}) => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: `sealed ${id}`,
  ...more,
});
const message = (id: string | undefined, ...texts: string[]) => ({
  ...(id === undefined ? {} : { id }),
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [] })),
});
const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } };

function requestOf(messages: readonly Message[], more: Partial<WireRequest> = {}): WireRequest {
  const tools = [{ name: 'read', description: 'Reads.', parameters: {} }];
  return { model: MODEL, system: '', tools, messages, maxOutputTokens: 4_096, ...more };
}

function bodyOf(messages: readonly Message[], more?: Partial<WireRequest>, options?: ResponsesOptions): unknown {
  return renderResponses(requestOf(messages, more), options).body;
}

/** Renders messages after a question, and checks that the request is valid. */
function sent(...messages: readonly Message[]): unknown[] {
  const { body } = renderResponses(requestOf([user('Go'), ...messages, user('Next')]));
  expect(validateResponses(body)).toEqual([]);
  return body.input.slice(1, -1);
}

describe('the request', () => {
  test('the Responses API request has `store: false`, asks for encrypted reasoning, and describes its tools (wire rule R7)', () => {
    expect(bodyOf([user('Go')], { system: 'Be brief.' })).toEqual({
      model: MODEL,
      instructions: 'Be brief.',
      input: [asked('Go')],
      tools: [
        {
          type: 'function',
          name: 'read',
          description: 'Reads.',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
      max_output_tokens: 4_096,
      store: false,
      include: ['reasoning.encrypted_content'],
    });
  });

  test('the Responses API request to a model without reasoning does not ask for reasoning', () => {
    expect(bodyOf([user('Go')], {}, { isReasoning: false })).not.toHaveProperty('include');
  });

  test('the Responses API request never has an output limit below the API’s minimum', () => {
    expect(bodyOf([user('Go')], { maxOutputTokens: 1 })).toMatchObject({ max_output_tokens: 16 });
  });

  test('the Responses API request has system messages in their places, as developer messages', () => {
    const told: Message = { role: 'system', content: 'Use French.' };
    const body = bodyOf([told, user('Hi'), says('Salut'), told, user('Go')], { system: 'Be brief.' });
    const developer = { role: 'developer' };
    expect(body).toMatchObject({ instructions: 'Be brief.', input: [developer, {}, {}, developer, {}] });
  });
});

describe('items that turnfold writes itself', () => {
  test('the Responses API request has tool outputs directly after their calls (wire rule R1)', () => {
    const { input } = renderResponses(
      requestOf([user('Go'), { ...calls('a', 'b'), content: 'I read.' }, user('Faster'), result('b'), result('a')]),
    ).body;
    expect(input).toEqual([
      asked('Go'),
      { role: 'assistant', content: 'I read.' },
      call('a'),
      call('b'),
      output('b'),
      output('a'),
      asked('Faster'),
    ]);
  });

  test('the Responses API request keeps the pictures of a tool output in place', () => {
    const url = 'https://images.example/1.png';
    const shown: Message = { ...result('a', 'here'), parts: [{ type: 'image_url', image_url: { url } }] };
    expect(sent(calls('a'), shown)[1]).toEqual(
      output('a', [
        { type: 'input_text', text: 'here' },
        { type: 'input_image', image_url: url, detail: 'auto' },
      ]),
    );
  });

  test('the Responses API request has the output of a failed tool call without an error flag, because the format has no such flag', () => {
    expect(sent(calls('a'), { ...result('a'), isError: true })[1]).toEqual(output('a'));
  });
});

describe('items of the provider', () => {
  const pair = [reasoning('rs_1'), call('a', { id: 'fc_1', status: 'completed' })];

  test('the Responses API request has the items of an answer verbatim, with no other items between them (wire rule R5)', () => {
    const items = [reasoning('rs_1'), search, message('msg_1', 'I read.'), call('a', { id: 'fc_1' })];
    const answer = own({ ...calls('a'), content: 'I read.' }, items);
    expect(sent(answer, result('a'))).toEqual([...items, output('a')]);
  });

  test('the Responses API request has a tool call whose id had to change in its original place, with its output (wire rule R1)', () => {
    const items = [reasoning('rs_1'), call('a:1', { id: 'fc_1' })];
    expect(sent(own(calls('a:1'), items), result('a:1'))).toEqual([
      reasoning('rs_1'),
      call('a_1_1', { id: 'fc_1' }),
      output('a_1_1'),
    ]);
  });

  test('the Responses API request leaves out a call whose output has a type that the log lacks, together with its reasoning (wire rules R1, R2)', () => {
    const shell = { type: 'shell_call', id: 'sh_1', call_id: 's', action: {} };
    const items = [reasoning('rs_1'), shell, reasoning('rs_2'), message('msg_1', 'Done.')];
    expect(sent(own(says('Done.'), items))).toEqual([reasoning('rs_2'), message('msg_1', 'Done.')]);
  });

  test.each<[string, RawItem[]]>([
    ['was cut off', [message('msg_1', 'Hm.'), reasoning('rs_1')]],
    ['is not encrypted (wire rule R6)', [reasoning('rs_1', { encrypted_content: null }), message('msg_1', 'Hm.')]],
    ['comes before a blank message', [reasoning('rs_1'), message('msg_0', ' '), message('msg_1', 'Hm.')]],
  ])(
    'the Responses API request leaves out reasoning that %s, and the id of the message after it (wire rules R2, R3)',
    (_case, items) => {
      const content = items.filter(({ type }) => type === 'message').length > 1 ? ' \n\nHm.' : 'Hm.';
      expect(sent(own(says(content), items))).toEqual([message(undefined, 'Hm.')]);
    },
  );

  test('the Responses API request has an item’s id only if reasoning comes before the item (wire rule R3)', () => {
    const items = [message('msg_1', 'So.'), ...pair];
    expect(sent(own({ ...calls('a'), content: 'So.' }, items), result('a'))).toEqual([
      message(undefined, 'So.'),
      ...pair,
      output('a'),
    ]);
    expect(sent(own(says('Hi.'), [message('msg_1', 'Hi.')]))).toEqual([message(undefined, 'Hi.')]);
  });

  test('the Responses API request has a file search of the provider only after reasoning, because the item requires its id (wire rule R3)', () => {
    const file = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: [] };
    const { id: _, ...unnamed } = search;
    expect(sent(own(says('So.'), [file, search, message('msg_1', 'So.')]))).toEqual([
      unnamed,
      message(undefined, 'So.'),
    ]);
    const reasoned = [reasoning('rs_1'), file, message('msg_1', 'So.')];
    expect(sent(own(says('So.'), reasoned))).toEqual(reasoned);
  });

  test('the Responses API request has only the last of several adjacent reasoning items (wire rule R4)', () => {
    const items = [reasoning('rs_1'), reasoning('rs_2'), message('msg_1', 'So.')];
    expect(sent(own(says('So.'), items))).toEqual(items.slice(1));
  });

  test('reasoning of every answer is sent back, also from a gateway that gives its items no ids', () => {
    const { id: _, ...thought } = reasoning('rs_1');
    const answer = (id: string): Message => own(calls(id), [thought, call(id)]);
    expect(sent(answer('a'), result('a'), answer('b'), result('b'))).toEqual([
      thought,
      call('a'),
      output('a'),
      thought,
      call('b'),
      output('b'),
    ]);
  });

  test('the Responses API request has no reasoning of another context version, and no items of another model (wire rule R6)', () => {
    const answer = own(calls('a'), pair, { version: 1 });
    const render = (version: number, model = MODEL): unknown[] =>
      renderResponses(requestOf([user('Go'), answer, result('a')], { version, model })).body.input.slice(1, -1);
    expect(render(1)).toEqual(pair);
    expect(render(2)).toEqual([call('a', { status: 'completed' })]);
    expect(render(1, 'model-2')).toEqual([call('a')]);
  });

  test('the Responses API request has an item id only once, even if two answers contain it (wire rule R9)', () => {
    const answer = own(says('Hi.'), [reasoning('rs_1'), message('msg_1', 'Hi.')]);
    expect(sent(answer, user('Again'), answer)).toEqual([
      reasoning('rs_1'),
      message('msg_1', 'Hi.'),
      asked('Again'),
      message(undefined, 'Hi.'),
    ]);
  });

  test('the Responses API request has the provider’s items without blank text, and with arguments that are a JSON object (wire rules X3, X7)', () => {
    const items = [reasoning('rs_1'), message('msg_1', 'So.', ''), call('a', { id: 'fc_1', arguments: '' })];
    const toolCalls = [{ id: 'a', name: 'read', arguments: '' }];
    expect(sent(own({ role: 'assistant', content: 'So.', toolCalls }, items), result('a'))).toEqual([
      reasoning('rs_1'),
      message('msg_1', 'So.'),
      call('a', { id: 'fc_1', arguments: '{}' }),
      output('a'),
    ]);
    expect(sent(own(says(''), [reasoning('rs_2')]))).toEqual([{ role: 'assistant', content: EMPTY_TEXT }]);
  });

  test.each<[string, RawItem[]]>([
    ['have another text', [message('msg_1', 'Much longer.')]],
    ['have one more call', [message('msg_1', 'Shorter.'), call('a')]],
  ])(
    'the Responses API request has the logged form of a message if the provider’s verbatim items %s',
    (_case, items) => {
      expect(sent(own(says('Shorter.'), items))).toEqual([{ role: 'assistant', content: 'Shorter.' }]);
    },
  );

  test('the Responses API request has an answer of two messages as two messages', () => {
    const items = [message(undefined, 'I look.'), message(undefined, 'Done.')];
    const answer = own(says('I look.\n\nDone.'), items);
    expect(sent(answer)).toEqual(items);
  });
});

describe('the provider’s own compaction item', () => {
  const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed', created_by: 'x' };
  const sealed = { type: 'compaction', encrypted_content: 'sealed' };

  test('the Responses API request starts with the provider’s own compaction item, encrypted and unchanged (wire rule R8)', () => {
    const answer = own(says('Yes.'), [reasoning('rs_1'), message('msg_1', 'Yes.')]);
    const { body } = renderResponses(requestOf([summary([compaction]), user('Go'), answer, user('Next')]));
    expect(body.input[0]).toEqual(sealed);
    expect(validateResponses(body)).toEqual([]);
  });

  test('the Responses API request has the provider’s own compaction item after the user messages that the provider kept (wire rule R8)', () => {
    const kept = { type: 'message', id: 'msg_1', status: 'completed', role: 'user', content: 'Find a.' };
    const { body } = renderResponses(requestOf([summary([kept, compaction]), user('Go')]));
    expect(body.input.slice(0, 2)).toEqual([{ type: 'message', role: 'user', content: 'Find a.' }, sealed]);
    expect(validateResponses(body)).toEqual([]);
  });

  test('the Responses API request has a summary’s text if the provider’s own compaction item of that summary would not come first (wire rule R8)', () => {
    const [, item] = renderResponses(requestOf([user('Go'), summary([compaction])])).body.input;
    expect(item).toMatchObject({ role: 'user', content: [{ text: expect.stringContaining('Done.') }] });
    const inside = own(says('Yes.'), [compaction, message(undefined, 'Yes.')]);
    expect(sent(inside)).toEqual([message(undefined, 'Yes.')]);
  });
});
