import type { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { collect, connectOpenAi } from './clients.ts';
import { startProvider } from './provider.ts';

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Item = OpenAI.Responses.ResponseInputItem;
const first = {
  model: 'gpt-6-astra',
  store: false,
  instructions: 'You read files.',
  include: ['reasoning.encrypted_content'],
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object' }, strict: false }],
  input: [{ role: 'user', content: 'Look at a and b.' }],
} satisfies Params;
const calls = [
  { name: 'read', arguments: { path: 'a' } },
  { name: 'read', arguments: { path: 'b — ✂️' } },
];

function extend(output: readonly OpenAI.Responses.ResponseOutputItem[], changes: Partial<Params> = {}): Params {
  const results = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: item.call_id, output: 'read' } as const]
      : [],
  );
  return { ...first, ...changes, input: [...first.input, ...(output as Item[]), ...results] };
}

describe('Responses through OpenAI’s SDK', () => {
  it('the Responses test server streams the same answer that it returns without streaming', async () => {
    const usage = { input: 100, cachedInput: 60, output: 20, thinking: 7 };
    const answer = { thinking: 'Both.', text: 'Reading — ✂️.', calls, usage };
    await using provider = await startProvider({ answers: [answer, answer] });
    const client = connectOpenAi(provider);
    const whole = await client.responses.create(first);
    const streamed = await client.responses.stream(first).finalResponse();
    expect(whole.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(whole.output_text).toBe('Reading — ✂️.');
    expect(whole.usage).toMatchObject({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 7 },
    });
    expect(streamed.usage).toEqual(whole.usage);
    expect(streamed.output_text).toBe(whole.output_text);
    expect(streamed.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
    expect(streamed.output).toMatchObject([
      { encrypted_content: expect.stringMatching(/^gAAAAA/), summary: [{ text: 'Both.' }] },
      {},
      { arguments: '{"path":"a"}' },
      { arguments: '{"path":"b — ✂️"}' },
    ]);
  });

  it('the Responses test server accepts its own items back complete, without their ids, or without their reasoning (wire rule R3)', async () => {
    const answers = [{ thinking: 'Both.', calls }, { text: '1' }, { text: '2' }, { text: '3' }];
    await using provider = await startProvider({ answers });
    const client = connectOpenAi(provider);
    const { output } = await client.responses.create(first);
    const [thinking, ...made] = output;
    const bare = made.map(({ id: _, ...item }) => item) as typeof output;
    await expect(client.responses.create(extend(output))).resolves.toBeDefined();
    await expect(client.responses.create(extend(bare))).resolves.toBeDefined();
    await expect(client.responses.create(extend([thinking!, ...bare]))).resolves.toBeDefined();
    await expect(client.responses.create(extend(made))).rejects.toThrow(
      `was provided without its required 'reasoning' item: '${thinking?.id}'`,
    );
    expect(provider.requests.at(-1)?.refusal?.rule).toBe('R3');
  });

  it('the Responses test server refuses its reasoning in a request to another model (wire rule R6)', async () => {
    await using provider = await startProvider({ answers: [{ thinking: 'Both.', calls }] });
    const client = connectOpenAi(provider);
    const { output } = await client.responses.create(first);
    await expect(client.responses.create(extend(output, { model: 'gpt-7' }))).rejects.toMatchObject({
      status: 400,
      code: 'invalid_encrypted_content',
    });
  });

  it('the Responses test server compacts messages, and accepts its own compaction item back only verbatim (wire rule R8)', async () => {
    await using provider = await startProvider({ answers: [{ usage: { input: 90, output: 9 } }, { text: 'On.' }] });
    const client = connectOpenAi(provider);
    const { model, input } = first;
    const history: Item[] = [...input, { type: 'message', role: 'assistant', content: 'So.' }];
    const compacted = await client.responses.compact({ model: 'gpt-6-astra', input: history });
    expect(compacted).toMatchObject({
      object: 'response.compaction',
      output: [{ role: 'user' }, { type: 'compaction' }],
      usage: { input_tokens: 90 },
    });
    const [compaction] = compacted.output.slice(-1) as Item[];
    const goOn = (item: Item) => client.responses.create({ model, input: [item, { role: 'user', content: 'Go on.' }] });
    await expect(goOn({ ...compaction, encrypted_content: 'gAAAAAother' } as Item)).rejects.toMatchObject({
      status: 400,
    });
    await expect(goOn(compaction!)).resolves.toMatchObject({ output_text: 'On.' });
  });

  it.each([
    [
      { text: 'So', end: 'cut_off' },
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    ],
    [
      { text: 'I cannot.', end: 'refusal' },
      { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'I cannot.' }] }] },
    ],
    [{ end: 'refusal' }, { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }],
  ] as const)('the Responses test server ends the scripted answer %j with %j', async (answer, response) => {
    await using provider = await startProvider({ answers: [answer, answer] });
    const client = connectOpenAi(provider);
    expect(await client.responses.create(first)).toMatchObject(response);
    const events = await collect(await client.responses.create({ ...first, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: `response.${response.status}`, response });
    expect(events.map((event) => event.sequence_number)).toEqual(events.keys().toArray());
  });

  it('the Responses test server reports inside the stream that a request is too long', async () => {
    await using provider = await startProvider({ strict: { windowTokens: 10 } });
    const stream = await connectOpenAi(provider).responses.create({ ...first, stream: true });
    await expect(collect(stream)).rejects.toMatchObject({ code: 'context_length_exceeded' });
  });
});
