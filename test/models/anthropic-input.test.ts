import { expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ModelAnswer } from '../../src/domain/model.ts';
import { readCallArguments } from '../../src/wire/calls.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, connect } from './fixture.ts';
import { serveRaw } from './raw-server.ts';

const user: Message = { role: 'user', content: 'Which row?' };

function useTool(index: number, ...pieces: readonly string[]): object[] {
  return [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `t${index}`, name: 'read', input: {} },
    },
    ...pieces.map((piece) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: piece },
    })),
    { type: 'content_block_stop', index },
  ];
}

async function hear(blocks: readonly object[], stop = 'tool_use'): Promise<ModelAnswer> {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], stop_reason: null, usage };
  const end = { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 9 } };
  await using server = await serveRaw({
    body: [{ type: 'message_start', message }, ...blocks, end, { type: 'message_stop' }],
  });
  return await connect('anthropic', server).generate(ask([user]));
}

const text = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I look.' } },
  { type: 'content_block_stop', index: 0 },
];

it('a tool call of an Anthropic model keeps its arguments as the model wrote them, so that a long number keeps all digits', async () => {
  const { toolCalls } = await hear([
    ...text,
    ...useTool(1, '{"row": 123456', '78901234567890}'),
    ...useTool(2, '{"row": 1.50}'),
    ...useTool(3),
  ]);
  expect(toolCalls.map((call) => [call.id, call.arguments])).toEqual([
    ['t1', '{"row": 12345678901234567890}'],
    ['t2', '{"row": 1.50}'],
    ['t3', '{}'],
  ]);
});

it('an Anthropic model’s answer that was cut off inside a tool call is reported as cut off', async () => {
  const { end, toolCalls } = await hear(
    [...useTool(0, '{"row": 12345678901234567890}'), ...useTool(1, '{"path":"a","row')],
    'max_tokens',
  );
  expect(end).toBe('cut_off');
  expect(toolCalls.map((call) => call.arguments)).toEqual(['{"row": 12345678901234567890}', '{"path":"a","row']);
});

it.each([
  ['one bracket too many', '{"a": 1}}'],
  ['NaN as a number', '{"a": NaN}'],
  ['a line break inside a string', '{"a": "one\ntwo"}'],
  ['a list in place of an object', '[1]'],
  ['a lone surrogate', '{"a": "\\ud83d"}'],
])(
  'an Anthropic model’s answer with invalid tool arguments is kept, and sent back as the model wrote them: %s',
  async (_, written) => {
    const answer = await hear([...text, ...useTool(1, written.slice(0, 4), written.slice(4))]);
    expect(answer).toMatchObject({ content: 'I look.', usage: { output: 9 }, end: 'complete' });
    expect(answer.toolCalls).toEqual([{ id: 't1', name: 'read', arguments: written }]);
    const { arguments: sent } = readCallArguments({ arguments: written });
    const input: unknown = JSON.parse(sent);
    expect(answer.raw).toMatchObject({ items: [{ type: 'text' }, { type: 'tool_use', id: 't1', input }] });
    await using provider = await startProvider({ answers: [{ text: 'One.' }] });
    const { content, toolCalls, raw } = answer;
    const said: Message = { role: 'assistant', content, toolCalls: [...toolCalls], raw };
    const failed: Message = { role: 'tool', content: 'no JSON object', toolCallId: 't1', isError: true };
    await connect('anthropic', provider).generate(ask([user, said, failed]));
    expect(provider.requests[0]?.body['messages']).toMatchObject([
      {},
      { content: [{}, { type: 'tool_use', input }] },
      {},
    ]);
  },
);

it('the next request has an Anthropic model’s blocks unchanged, except for a number that would lose digits', async () => {
  const { content: said, toolCalls, raw } = await hear([...text, ...useTool(1, '{"row": 12345678901234567890}')]);
  await using provider = await startProvider({ answers: [{ text: 'One.' }], strict: false });
  const history: Message[] = [
    user,
    { role: 'assistant', content: said, toolCalls: [...toolCalls], raw },
    { role: 'tool', content: 'A', toolCallId: 't1' },
  ];
  await connect('anthropic', provider).generate(ask(history));
  const { items } = raw as { readonly items: readonly object[] };
  const content = items.map((item, place) =>
    place === 1 ? { ...item, input: { row: '12345678901234567890' } } : item,
  );
  expect(provider.requests[0]?.body['messages']).toMatchObject([{}, { content }, {}]);
});
