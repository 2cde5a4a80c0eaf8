import type { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { collect, connectOpenAi } from './clients.ts';
import { startProvider } from './provider.ts';

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Message = OpenAI.ChatCompletionMessage;
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'read', parameters: { type: 'object' } } },
];
const first = {
  model: 'gpt-6-astra',
  messages: [
    { role: 'system', content: 'You read files.' },
    { role: 'user', content: 'Look at a and b.' },
  ],
  tools,
} satisfies Params;
const calls = [
  { name: 'read', arguments: { path: 'a' } },
  { name: 'read', arguments: { path: 'b — ✂️' } },
];

function extend(params: Params, message: Message): Params {
  const results = (message.tool_calls ?? []).map(
    ({ id }) => ({ role: 'tool', tool_call_id: id, content: `read ${id}` }) as const,
  );
  return { ...params, messages: [...params.messages, message, ...results] };
}

describe('Chat Completions through OpenAI’s SDK', () => {
  it('the Chat Completions test server streams the same answer that it returns without streaming', async () => {
    const answer = {
      thinking: 'Both.',
      text: 'Reading — ✂️.',
      calls,
      usage: { input: 100, cachedInput: 60, output: 20, thinking: 7 },
    };
    await using provider = await startProvider({ answers: [answer, answer] });
    const client = connectOpenAi(provider);
    const whole = await client.chat.completions.create(first);
    const stream = client.chat.completions.stream({ ...first, stream_options: { include_usage: true } });
    const streamed = await stream.finalChatCompletion();
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Reading — ✂️.',
        reasoning_content: 'Both.',
        tool_calls: [
          { type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
          { type: 'function', function: { name: 'read', arguments: '{"path":"b — ✂️"}' } },
        ],
      },
    });
    expect(whole.usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 7 },
    });
    expect(streamed.usage).toEqual(whole.usage);
    const [choice] = streamed.choices;
    expect(choice?.message.content).toBe(whole.choices[0]?.message.content);
    expect(choice?.message.tool_calls).toMatchObject([{ function: { arguments: '{"path":"a"}' } }, {}]);
    expect(choice?.finish_reason).toBe('tool_calls');
  });

  it('the Chat Completions test server streams its token usage only if the request asks for it', async () => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }] });
    const stream = await connectOpenAi(provider).chat.completions.create({ ...first, stream: true });
    const chunks = await collect(stream);
    expect(chunks.every(({ usage }) => usage === undefined)).toBe(true);
  });

  it('the Chat Completions test server accepts its own tool calls back, with verbatim reasoning or without reasoning (wire rule C7)', async () => {
    await using provider = await startProvider({
      answers: [{ thinking: 'Both.', calls }, { text: '1' }, { text: '2' }],
    });
    const client = connectOpenAi(provider);
    const { choices } = await client.chat.completions.create(first);
    const message = choices[0]!.message as Message & { reasoning_content: string };
    const { reasoning_content: _, ...without } = message;
    await expect(client.chat.completions.create(extend(first, message))).resolves.toBeDefined();
    await expect(client.chat.completions.create(extend(first, without))).resolves.toBeDefined();
    const changed = { ...message, reasoning_content: 'Bo' };
    await expect(client.chat.completions.create(extend(first, changed))).rejects.toThrow('must be passed back');
    expect(provider.requests.at(-1)?.refusal?.rule).toBe('C7');
  });

  it.each([
    [
      { text: 'So', end: 'cut_off' },
      { finish_reason: 'length', message: { content: 'So' } },
    ],
    [
      { text: 'I cannot.', end: 'refusal' },
      { finish_reason: 'stop', message: { content: null, refusal: 'I cannot.' } },
    ],
    [{ end: 'refusal' }, { finish_reason: 'content_filter' }],
    [{ calls: [{ name: 'read', arguments: '{"path' }], end: 'cut_off' }, { finish_reason: 'length' }],
  ] as const)('the Chat Completions test server ends the scripted answer %j with %j', async (answer, choice) => {
    await using provider = await startProvider({ answers: [answer] });
    const { choices } = await connectOpenAi(provider).chat.completions.create(first);
    expect(choices[0]).toMatchObject(choice);
  });
});
