import { describe, expect, it } from 'vitest';
import { startProvider } from '../provider/provider.ts';
import { ask, connect, READ } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const user = { role: 'user', content: 'Which files?' } as const;

function chunk(delta: object, finish: string | null = null): object {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] };
}

function call(fields: { index?: number; id?: string; name?: string; text: string }): object {
  const { index, id, name, text } = fields;
  return {
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), arguments: text },
      },
    ],
  };
}

describe('servers compatible with Chat Completions', () => {
  const whole = [
    { id: 'a', name: 'read', arguments: '{"path":"a"}' },
    { id: 'b', name: 'read', arguments: '{"path":"b"}' },
  ];

  it.each([
    ['no index', [undefined, undefined]],
    ['indexes from 1', [1, 2]],
  ])('a Chat Completions stream whose tool calls have %s is read as complete calls', async (_name, [first, second]) => {
    const at = (index: number | undefined): { index?: number } => (index === undefined ? {} : { index });
    const body = [
      chunk(call({ ...at(first), id: 'a', name: 'read', text: '{"path"' })),
      chunk(call({ ...at(first), id: '', text: ':"a"}' })),
      chunk(call({ ...at(second), id: 'b', name: 'read', text: '{"path":"b"}' })),
      chunk({}, 'tool_calls'),
    ];
    await using server = await serveRaw({ body });
    const { toolCalls, usage } = await connect('openai-chat', server).generate(ask([user]));
    expect(toolCalls).toEqual(whole);
    expect(usage).toBeUndefined();
  });

  it('a Chat Completions stream with null fields and a chunk without a delta is accepted', async () => {
    const last = { id: 'c', choices: [{ index: 0, finish_reason: 'stop' }] };
    const body = [chunk({ role: 'assistant', content: 'Yes', tool_calls: null }), chunk({ content: '.' }), last];
    await using server = await serveRaw({ body });
    const answer = await connect('openai-chat', server).generate(ask([user]));
    expect(answer).toMatchObject({ content: 'Yes.', toolCalls: [], end: 'complete' });
  });

  it('reasoning that an OpenAI-compatible server streams in pieces is recorded whole, and counts as kept in the context inside a tool loop', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 8 } };
    const thoughts = [chunk({ reasoning_content: 'Two ' }), chunk({ reasoning_content: 'files.' })];
    const inLoop = [...thoughts, chunk(call({ index: 0, id: 'a', name: 'read', text: '{}' })), chunk({}, 'tool_calls')];
    const last = { id: 'c', choices: [], usage };
    await using server = await serveRaw({ body: [...inLoop, last] });
    const answer = await connect('openai-chat', server).generate(ask([user]));
    expect(answer.raw).toMatchObject({ items: [{ reasoning_content: 'Two files.' }] });
    expect(answer.usage).toMatchObject({ inputTotal: 9, output: 20, outputKept: 20 });
    await using other = await serveRaw({ body: [...thoughts, chunk({ content: 'Two.' }), chunk({}, 'stop'), last] });
    const { usage: ended } = await connect('openai-chat', other).generate(ask([user]));
    expect(ended).toMatchObject({ output: 20, outputKept: 12 });
  });

  it('a server compatible with the Responses API may omit the details of its token usage', async () => {
    const response = { id: 'r', status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 1 } };
    await using server = await serveRaw({ body: [{ type: 'response.completed', sequence_number: 0, response }] });
    const { usage } = await connect('openai-responses', server).generate(ask([user]));
    expect(usage).toEqual({ inputTotal: 3, cachedInput: 0, cacheWrite: 0, output: 1, outputKept: 1 });
  });
});

describe('Anthropic', () => {
  it('an Anthropic model call fails with an `overflow` error if the answer reaches the end of the window, and reports its usage', async () => {
    const usage = { input: 9_000, output: 700 };
    await using provider = await startProvider({ answers: [{ text: 'So', end: 'window_full', usage }] });
    expect(await failureOf(connect('anthropic', provider).generate(ask([user])))).toMatchObject({
      kind: 'overflow',
      code: 'model_context_window_exceeded',
      usage: { inputTotal: 9_000, output: 700 },
    });
  });

  it('the kind of an Anthropic model’s error does not depend on the text of an event that is not valid JSON', async () => {
    const body = 'event: message_start\ndata: {"type": "the prompt is too long\n\n';
    await using server = await serveRaw({ body, headers: { 'content-type': 'text/event-stream' } });
    expect((await failureOf(connect('anthropic', server).generate(ask([user])))).kind).toBe('retry');
  });

  it('an Anthropic answer records the hash of its system texts and tools (wire rule A8), and answers of OpenAI’s formats do not', async () => {
    await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }) });
    const rawOf = async (format: Parameters<typeof connect>[0], description: string): Promise<unknown> =>
      (await connect(format, provider).generate(ask([user], { tools: [{ ...READ, description }] }))).raw;
    const prefix = { prefix: expect.any(String) as string };
    const first = await rawOf('anthropic', 'Reads.');
    expect(first).toMatchObject({ format: 'anthropic', model: 'model-1', version: 0, ...prefix });
    expect(await rawOf('anthropic', 'Writes.')).not.toMatchObject({ prefix: (first as { prefix: string }).prefix });
    expect(await rawOf('openai-chat', 'Reads.')).not.toHaveProperty('prefix');
    expect(await rawOf('openai-responses', 'Reads.')).not.toHaveProperty('prefix');
  });
});
