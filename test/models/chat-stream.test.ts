import { expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ModelAnswer } from '../../src/domain/model.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, connect } from './fixture.ts';
import { serveRaw } from './raw-server.ts';

const user: Message = { role: 'user', content: 'Which files?' };

function chunk(delta: object, finish: string | null = null): object {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] };
}

function piece(index: number, call: { id?: string; name?: string; text: string }, own: object = {}): object {
  const { id, name, text } = call;
  return chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text }, ...own }] });
}

async function hear(...said: readonly object[]): Promise<ModelAnswer> {
  await using server = await serveRaw({ body: [...said, chunk({}, 'tool_calls')] });
  return await connect('openai-chat', server).generate(ask([user]));
}

it('a Chat Completions stream with the same index for several tool calls is read as several calls', async () => {
  const { toolCalls } = await hear(
    piece(0, { id: 'a', name: 'read', text: '{"path"' }),
    piece(0, { text: ':"a"}' }),
    piece(0, { id: 'b', name: 'read', text: '{"path":"b"}' }),
  );
  expect(toolCalls).toEqual([
    { id: 'a', name: 'read', arguments: '{"path":"a"}' },
    { id: 'b', name: 'read', arguments: '{"path":"b"}' },
  ]);
});

it.each([
  ['repeats the tool name in every piece', ['read', 'read', 'read']],
  ['splits the tool name', ['re', 'ad', '']],
  ['sends the tool name late', ['', 'read', '']],
])(
  'a Chat Completions stream that %s is read as one tool call with one name',
  async (_way, [first = '', second = '', third = '']) => {
    const { toolCalls } = await hear(
      piece(0, { id: 'a', name: first, text: '{"path"' }),
      piece(0, { id: 'a', name: second, text: ':' }),
      piece(0, { name: third, text: '"a"}' }),
    );
    expect(toolCalls).toEqual([{ id: 'a', name: 'read', arguments: '{"path":"a"}' }]);
  },
);

it('a Chat Completions stream with interleaved pieces of parallel tool calls is read as complete calls', async () => {
  const { toolCalls } = await hear(
    piece(0, { id: 'a', name: 'read', text: '{"path"' }),
    piece(1, { id: 'b', name: 'read', text: '{"path"' }),
    piece(0, { text: ':"a"}' }),
    piece(1, { text: ':"b"}' }),
  );
  expect(toolCalls.map((call) => call.arguments)).toEqual(['{"path":"a"}', '{"path":"b"}']);
});

it('a Chat Completions request has the server’s signatures, on the tool call and on the message', async () => {
  const sign = (signature: string): object => ({ extra_content: { google: { thought_signature: signature } } });
  const { content, toolCalls, raw } = await hear(
    chunk({ content: 'I look.', ...sign('on-message') }),
    piece(0, { id: 'a', name: 'read', text: '{}' }, sign('on-call')),
  );
  await using provider = await startProvider({ answers: [{ text: 'One.' }], strict: false });
  const history: Message[] = [
    user,
    { role: 'assistant', content, toolCalls: [...toolCalls], raw },
    { role: 'tool', content: 'A', toolCallId: 'a' },
  ];
  await connect('openai-chat', provider).generate(ask(history));
  expect(provider.requests[0]?.body['messages']).toMatchObject([
    { role: 'system' },
    { role: 'user' },
    { role: 'assistant', ...sign('on-message'), tool_calls: [{ id: 'a', ...sign('on-call') }] },
    { role: 'tool', tool_call_id: 'a' },
  ]);
});

it('the token usage of a Chat Completions stream is read from a chunk without choices', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1, prompt_tokens_details: null };
  await using server = await serveRaw({ body: [chunk({ content: 'Yes.' }, 'stop'), { id: 'c', usage }] });
  const answer = await connect('openai-chat', server).generate(ask([user]));
  expect(answer).toMatchObject({ content: 'Yes.', end: 'complete', usage: { inputTotal: 3, outputKept: 1 } });
});
